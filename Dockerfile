# Lazuli as an image, for linux/amd64 and linux/arm64: `docker build -t lazuli .`; `--target nonroot` for one that needs
# neither root nor a writable file system. It is used as in docs/containers.md.
# Alpine has what tools run in the container of an Azurite: sh, grep, awk and nc.
ARG NODE_IMAGE=docker.io/library/node:24-alpine

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /opt/lazuli
COPY package.json package-lock.json ./
COPY scripts/node/package.json scripts/node/
RUN npm ci --omit=dev --no-workspaces --ignore-scripts --no-audit --no-fund
# Builds of lmdb for the ABI of older versions of Node, types, source maps and manuals.
RUN find node_modules -type f \( -name 'node.abi*.node' -o -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.md' \) -exec rm {} +

FROM ${NODE_IMAGE} AS compiled
WORKDIR /build
COPY package.json package-lock.json ./
COPY scripts/node/package.json scripts/node/
RUN npm ci --no-workspaces --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/build.mjs

FROM ${NODE_IMAGE} AS common
WORKDIR /opt/lazuli
COPY --from=dependencies /opt/lazuli/node_modules node_modules
COPY --from=compiled /build/dist dist
# The admin port shows the documentation.
COPY package.json LICENSE *.md ./
COPY docs docs
COPY examples examples
# Any user may write to a new volume: it begins with the permissions of this folder.
RUN for name in lazuli azurite azurite-blob azurite-queue azurite-table; do \
    ln -s /opt/lazuli/dist/main.js /usr/local/bin/$name || exit 1; done \
  && mkdir -m 1777 /data
# Settings by environment, so that whatever command is given listens and keeps its data where the container needs it. Flags
# override them.
ENV LAZULI_LOCATION=/data LAZULI_HOST=0.0.0.0 LAZULI_ADMIN_HOST=0.0.0.0
VOLUME /data
EXPOSE 10000 10001 10002 10003 10004 10005 10010 10445
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["lazuli", "health"]
# No ENTRYPOINT: tools give `azurite …` as the command, or make `azurite` the entry point.
CMD ["azurite"]

FROM common AS nonroot
USER 65532:65532

FROM common AS lazuli
