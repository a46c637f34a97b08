#!/bin/sh
# Make the release OUTPUT of the file DATA by the plan PLAN, and verify it; SIGNER names a public key, or is empty.
# Ends with the exit code of the first command that failed; what it said is an annotation of the run.
set -u
run() {
    said=$("$@" 2>&1)
    code=$?
    printf '%s\n' "$said"
    # 4: verified, but a promise such as that of random swapping rests on the publisher's word; here we are the publisher
    if [ "$code" -eq 0 ] || [ "$code" -eq 4 ]; then return; fi
    # in annotations, % and line ends are escaped
    printf '::error title=shoal %s::%s\n' "$2" "$(printf '%s' "$said" | tail -n 5 | sed 's/%/%25/g' | tr '\n' ' ')"
    exit "$code"
}
run shoal anonymize "$DATA" --plan "$PLAN" --output "$OUTPUT"
if [ -n "${SIGNER:-}" ]; then
    run shoal verify "$OUTPUT" --signer "$SIGNER"
else
    run shoal verify "$OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    { echo '```'; cat "$OUTPUT/summary.txt"; echo '```'; } >>"$GITHUB_STEP_SUMMARY"
fi
