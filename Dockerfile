# syntax=docker/dockerfile:1
# `make image` builds it. The release gives the base by its digest: --build-arg BASE=python@sha256:…
ARG BASE=python:3.13-slim-bookworm

FROM ${BASE} AS wheels
WORKDIR /src
COPY constraints.txt pyproject.toml setup.cfg LICENSE README.md ./
RUN pip install --no-cache-dir --only-binary :all: -c constraints.txt setuptools
COPY kubectl_eksdoc ./kubectl_eksdoc
RUN pip wheel --no-cache-dir --no-build-isolation --wheel-dir /wheels -c constraints.txt .

FROM ${BASE}
ARG VERSION=unknown
LABEL org.opencontainers.image.title="kubectl-eksdoc" \
      org.opencontainers.image.description="Plan the drain of Amazon EKS nodes, and do it" \
      org.opencontainers.image.source="https://github.com/OWNER/kubectl-eksdoc" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
# There is one wheel of it in /wheels, which was built above.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels kubectl-eksdoc && \
    install -d -m 0700 -o 65532 -g 65532 /home/eksdoc
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/home/eksdoc \
    TMPDIR=/tmp
USER 65532:65532
WORKDIR /
ENTRYPOINT ["kubectl-eksdoc"]
