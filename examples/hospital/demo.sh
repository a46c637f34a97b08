#!/bin/sh
# Draft a schema, anonymise the bundled hospital table and verify the release. Run it with `make demo`.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

command -v shoal >/dev/null 2>&1 || {
    echo "demo: there is no \`shoal\` command on the PATH; run \`make demo\`, or activate the environment first" >&2
    exit 2
}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/shoal-demo.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

release=$here/release
if [ ! -w "$here" ]; then
    release=$(mktemp -d "${TMPDIR:-/tmp}/shoal-hospital.XXXXXX")/release
elif [ -e "$release" ] || [ -L "$release" ]; then
    # Only what an earlier run left is replaced: a real folder that holds a certificate.
    if [ -L "$release" ] || [ ! -f "$release/certificate.json" ]; then
        echo "demo: $release exists and is not a release; move it away first" >&2
        exit 2
    fi
    rm -rf -- "$release"
fi

say() {
    printf '\n$ %s\n' "$*"
}

say shoal draft discharges.csv --output drafted.schema.toml
shoal draft "$here/discharges.csv" --output "$scratch/drafted.schema.toml"
printf '\nThat was a guess, and it is thrown away: a person wrote discharges.schema.toml, which is used from here on.\n'

say shoal anonymize discharges.csv --schema discharges.schema.toml --k 5 --output release/
shoal anonymize "$here/discharges.csv" --schema "$here/discharges.schema.toml" --k 5 --output "$release"

say shoal verify release/
shoal verify "$release"

printf '\nThe release:   %s\n' "$release/data.parquet"
printf 'The report:    %s\n' "$release/report.html"
printf 'What it keeps: %s\n' "$release/summary.txt"
printf 'The promise:   %s\n' "$release/certificate.json"
