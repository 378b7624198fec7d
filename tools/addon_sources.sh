#!/bin/sh
# Collects what tools.addon_manifests reads: sh tools/addon_sources.sh CLONES FOLDER
# CLONES has clones of aws/amazon-vpc-cni-k8s and eksctl-io/eksctl, with their tags; FOLDER gets ADDON/VERSION files.
set -eu
clones=$1
into=$2
mkdir -p "$into/vpc-cni" "$into/coredns"

cni() { git -C "$clones/amazon-vpc-cni-k8s" "$@"; }
eksctl() { git -C "$clones/eksctl" "$@"; }

cni tag --list 'v1.*' | grep -E '^v1\.(1[1-9]|[2-9][0-9])\.[0-9]+$' | while read -r tag; do
  cni show "$tag:config/master/aws-k8s-cni.yaml" > "$into/vpc-cni/$tag.yaml" 2>/dev/null || rm "$into/vpc-cni/$tag.yaml"
done

assets=pkg/addons/default/assets
eksctl tag --list 'v0.*' | grep -E '^v0\.[0-9]+\.[0-9]+$' | sort -V | while read -r tag; do
  for path in $(eksctl ls-tree --name-only "$tag" "$assets/" | grep '/coredns-.*\.json$'); do
    image=$(eksctl show "$tag:$path" | sed -n 's/.*coredns:\(v[0-9][0-9a-z.-]*\).*/\1/p' | head -n 1)
    [ -z "$image" ] || eksctl show "$tag:$path" > "$into/coredns/$image.json"
  done
done
