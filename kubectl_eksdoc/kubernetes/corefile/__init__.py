"""Corefiles as CoreDNS reads them: tokens, blocks, and what some plugins take.

Belongs here: the grammar of github.com/coredns/caddy's caddyfile package (Caddyfile v1), the setup rules of plugins
that are judged, and edits that leave every other byte as it is.
Never here: what a good value would be (that is a feature's), reading a ConfigMap.
"""
