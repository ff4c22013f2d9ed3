#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Inputs that no one should give: an error with a place, status 1, no output, soon, whatever the language.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
plan=$pairs/tp_pp.plan
make() {
    "$PYTHON" -c "$1"
}
make 'import random, sys; random.seed(1); sys.stdout.buffer.write(random.randbytes(100000))' >garbage
make 'print("plan p; " + "#" * 10000000)' >long-comment
make 'print("plan p; " + "a " * 5000000)' >long-line
make 'print("plan " + "a" * 10000000 + ";")' >long-name
make 'print("plan p; mesh m (a = " + "(" * 300000 + "2" + ")" * 300000 + ");")' >deep
make 'print("plan p; mesh m (a = " + "-" * 300000 + "2);")' >deep-minus
make 'print("plan p; mesh m (a = " + "9" * 100000 + ");")' >long-number
make 'import sys; sys.stdout.buffer.write(b"plan p;\0mesh m (a = 2);\0")' >nul
make 'import sys; sys.stdout.buffer.write(b"plan p; # " + b"\0" * 1000000)' >nuls
make 'print("plan p; /* never closed")' >unclosed
make 'print("plan p; " + "/* " * 300000)' >many-unclosed
make 'print("plan p\nmesh m (a = 2)\ntensor x : f32[" + ", ".join(f"d{i} = 1" for i in range(100000)) + "]")' >many-dims
make 'print("\ufeffplan p;")' >bom
head -c 200 "$plan" >cut-off
: >empty
printf 'plan p;' >no-newline
"$CHIMERAC" -q --emit=ir "$plan" >good.ir || bad "no IR"
sed 's/over (tp)/over (pp)/' good.ir >wrong-type.ir
sed 's/shift %1/shift %9/' good.ir >wrong-name.ir
sed '/^output/d' good.ir >no-output.ir
sed 's/shift/sh\\ft/' good.ir >wrong-op.ir

for file in garbage long-comment long-line long-name deep deep-minus long-number nul nuls unclosed many-unclosed many-dims bom cut-off \
    empty no-newline ./*.ir; do
    [ "$file" != ./good.ir ] || continue
    for language in plan ir; do
        for emit in c ir; do
            expect 1 "$file as $language" timeout 50 "$CHIMERAC" -x $language --emit=$emit -o made "$file"
            is_empty out
            says err "error: "
            [ "$(wc -c <err)" -lt 20000 ] || bad "$file as $language: a message of $(wc -c <err) bytes"
            [ ! -e made ] || bad "$file as $language: an output file was left"
        done
    done
done
expect 1 "wrong type" "$CHIMERAC" wrong-type.ir && says err "wrong-type.ir:5:"
expect 1 "a missing file" "$CHIMERAC" missing.plan && says err "missing.plan"
expect 1 "a folder" "$CHIMERAC" "$work" && says err "directory"
expect 1 "a missing file" "$CHIMERAC" run missing.plan && says err "missing.plan"
expect 1 "unknown param" "$CHIMERAC" -D seqq=4 "$plan" && says err "no param 'seqq'"
expect 1 "a dim of size 0" "$CHIMERAC" -D seq=0 "$plan" && says err "$plan:"
finish
