FROM python:3.13-slim-bookworm AS wheels
WORKDIR /src
COPY constraints.txt pyproject.toml setup.cfg LICENSE README.md ./
COPY kubectl_eksdoc ./kubectl_eksdoc
RUN pip wheel --no-cache-dir --wheel-dir /wheels -c constraints.txt .

FROM python:3.13-slim-bookworm
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="kubectl-eksdoc" \
      org.opencontainers.image.description="Plan the drain of Amazon EKS nodes, and do it" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "kubectl-eksdoc==${VERSION}"
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/home/eksdoc \
    TMPDIR=/tmp
USER 65532:65532
WORKDIR /
ENTRYPOINT ["kubectl-eksdoc"]
