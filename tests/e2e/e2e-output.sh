#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Where -o may lead, and that a failure leaves nothing behind and nothing changed.
# shellcheck disable=SC2016 # expanded by the inner shell
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
plan=$pairs/tp_pp.plan
emit() {
    "$CHIMERAC" -q --emit=ir "$@"
}
emit "$plan" >plain.ir || bad "no plain output"

same() {
    cmp -s "$1" plain.ir || bad "$1 is not the output"
    left=$(find . -name '.chimerac*')
    [ -z "$left" ] || bad "left behind: $left"
}

mkdir there
expect 0 "a new file" emit -o there/x.ir "$plan" && same there/x.ir && is_empty out err
[ "$(stat -c %a there/x.ir)" = "$(touch there/y && stat -c %a there/y)" ] || bad "the mode is not that of a new file"
echo old >there/x.ir && chmod 640 there/x.ir
expect 0 "an old file" emit -o there/x.ir "$plan" && same there/x.ir
[ "$(stat -c %a there/x.ir)" = 640 ] || bad "the mode of an old file is lost"
expect 0 "-" emit -o - "$plan" && same out
ln -s x.ir there/link
echo old >there/x.ir
expect 0 "a link" emit -o there/link "$plan" && same there/x.ir
[ -L there/link ] || bad "a link did not stay one"
expect 0 "a device" emit -o /dev/null "$plan" && is_empty out err
mkfifo pipe
cat pipe >piped &
expect 0 "a pipe" emit -o pipe "$plan"
wait
same piped
[ -p pipe ] || bad "a pipe did not stay one"

# ---- refused
expect 1 "a full device" emit -o /dev/full "$plan" && says err "cannot write '/dev/full'"
expect 1 "a folder" emit -o there "$plan" && says err "cannot write 'there'"
expect 1 "no such folder" emit -o nowhere/x "$plan" && says err "cannot write 'nowhere/x'"
expect 1 "below a file" emit -o plain.ir/x "$plan" && says err "cannot write"
cp "$plan" in.plan
ln in.plan hard.plan
ln -s in.plan soft.plan
for name in in.plan ./in.plan hard.plan soft.plan; do
    expect 1 "the input" emit -o "$name" in.plan && says err "it is the input file"
done
expect 1 "the input, as standard input" sh -c '"$0" -q -o in.plan - <in.plan' "$CHIMERAC"
cmp -s in.plan "$plan" || bad "the input was changed"
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 500 locked
    expect 1 "a locked folder" emit -o locked/x "$plan"
    echo old >kept && chmod 400 kept
    expect 1 "a read-only file" emit -o kept "$plan"
    [ "$(cat kept)" = old ] || bad "a read-only file was changed"
    echo x >unreadable.plan && chmod 000 unreadable.plan
    expect 1 "an unreadable input" emit unreadable.plan
fi
expect 1 "full standard output" sh -c '"$0" -q "$1" >/dev/full' "$CHIMERAC" "$plan" && says err "cannot write"
expect 1 "closed standard output" sh -c '"$0" -q "$1" >&-' "$CHIMERAC" "$plan" && says err "cannot write"
expect 1 "full standard output, help" sh -c '"$0" --help >/dev/full' "$CHIMERAC"

# ---- a failure leaves the old file
for name in old new; do
    [ "$name" = new ] || echo old >old
    expect 1 "a bad plan" emit -o "$name" -D seq=0 "$plan"
done
[ "$(cat old)" = old ] || bad "a failure changed the output file"
[ ! -e new ] || bad "a failure left an output file"
left=$(find . -name '.chimerac*')
[ -z "$left" ] || bad "left behind: $left"
finish
