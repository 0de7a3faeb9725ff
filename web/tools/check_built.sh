#!/bin/sh
# Was built/ made of the sources that stand beside it? `./dev page` makes it again.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "web/built is not what its sources make: $*; ./dev page" >&2; exit 1; }
sha256sum --check --quiet --strict built/sources.sha256 || fail "a source has changed"
listed=$(sed 's/^[0-9a-f]*  //' built/sources.sha256 | sort)
there=$(find src public -type f | sort; echo index.html; echo package-lock.json; echo package.json; echo tsconfig.json
        echo vite.config.ts; echo tools/pack.mjs)
[ "$listed" = "$(echo "$there" | sort)" ] || fail "a source is new or gone"
