#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The command line: exit statuses, messages, which stream says what.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
plan=$pairs/tp_pp.plan

# ---- usage errors: status 2, a message on standard error, nothing on standard output
usage() {
    text=$1
    shift
    expect 2 "usage" "$CHIMERAC" "$@"
    says err "$text"
    says err "chimerac --help"
    is_empty out
}
usage "no input file"
usage "no input file" run
usage "unknown option '--frobnicate'" --frobnicate "$plan"
usage "unknown option '--emti'; did you mean '--emit'?" --emti=ir "$plan"
usage "unknown option '--verify'; did you mean '--verify-each'?" --verify "$plan" # no abbreviations
usage "unknown option '--emi'; did you mean '--emit'?" --emi "$plan"
usage "unknown option '--ver'" --ver "$plan"
usage "unknown option '--'" --= "$plan"
usage "unknown option '-emit=ir'; did you mean '--emit=ir'?" -emit=ir "$plan"
usage "unknown option '-z'" -z "$plan"
usage "unknown option '-z'" -qz "$plan"
usage "unknown kind of output 'irr'; did you mean 'ir'?" --emit=irr "$plan"
usage "'--emit' needs a value" "$plan" --emit
usage "'-o' needs a value" "$plan" -o
usage "'-o' needs a file name" "$plan" -o ''
usage "'--topology' needs a file name" --topology '' "$plan"
usage "'--quiet' takes no value" --quiet=1 "$plan"
usage "no optimization level '-O7'" -O7 "$plan"
usage "'-O' needs a value" -O "$plan"
usage "'--chunks 0': not an integer from 1 to 2147483647" -O3 --chunks 0 "$plan"
usage "'--chunks 2147483648': not an integer from 1 to 2147483647" -O3 --chunks=2147483648 "$plan"
usage "'--chunks 4x': not an integer from 1 to 2147483647" -O3 --chunks=4x "$plan"
usage "'--chunks 99999999999': not an integer" -O3 --chunks=99999999999 "$plan"
usage "'--chunks' is for the pass 'pipeline', which -O3 runs" --chunks 4 "$plan"
usage "'--chunks' is for the pass 'pipeline', which -O3 runs" -O3 --passes=route --chunks 4 "$plan"
usage "unknown pass 'cancle'; did you mean 'cancel'?" --passes=cse,cancle "$plan"
usage "unknown pass 'nothing_like_it'" --print-after=nothing_like_it "$plan"
usage "'-D seq' is not of the form NAME=VALUE" -D seq "$plan"
usage "the value is not a decimal integer of 64 bits" -D seq=1e3 "$plan"
usage "the value is not a decimal integer of 64 bits" -D seq=99999999999999999999 "$plan"
usage "unknown language 'irr'; did you mean 'ir'?" -x irr "$plan"
usage "unknown color mode 'allways'; did you mean 'always'?" --color=allways "$plan"
usage "unknown kind of output 'foo'; there are 'ast', 'c'" --emit=foo "$plan"
usage "unknown language 'c'; there are 'plan' and 'ir'" -x c "$plan"
usage "'-D seq=4+4': the value is not a decimal integer" -D seq=4+4 "$plan"
usage "one input file at a time" "$plan" "$plan"
usage "one input file at a time" -- run "$plan"
usage "'--driver' adds a main to '--emit=c' only" --driver --emit=ir "$plan"
usage "'--emit' has no meaning for 'chimerac run'" run --emit=c "$plan"
usage "'--seed' is an option of 'chimerac run' only" --seed 3 "$plan"
usage "'--max-buffer 3furlongs': not a size such as 64MiB or 1G" --max-buffer 3furlongs "$plan"
usage "'--max-buffer 0': not a size" --max-buffer=0 "$plan"
usage "'--max-buffer 99999999999G': larger than 9223372036854775807 bytes" --max-buffer=99999999999G "$plan"
usage "'--max-buffer 9999999999999GiB': larger than 9223372036854775807 bytes" --max-buffer=9999999999999GiB "$plan"
usage "'--max-buffer 99999999999999999999': larger than" --max-buffer=99999999999999999999 "$plan"
usage "'--max-buffer 99999999999999999999x': not a size" --max-buffer=99999999999999999999x "$plan"
usage "'--memory 8388608T': larger than" run --memory 8388608T "$plan"
usage "not a size" run --memory 3furlongs "$plan"
usage "'-D' sets a 'param' of a plan" -x ir -D seq=4 "$plan"
usage "'--emit=ast' prints the syntax tree of a plan" -x ir --emit=ast "$plan"

# ---- texts
expect 0 help "$CHIMERAC" --help && is_empty err
for word in --emit --passes -O --driver '-D, --define' --explain -q run json dot ast 'Exit status'; do
    says out "$word"
done
expect 0 help "$CHIMERAC" -h
expect 0 version "$CHIMERAC" --version && is_empty err
[ "$(wc -l <out)" -eq 1 ] || bad "--version prints more than a line"
expect 0 passes "$CHIMERAC" --list-passes && is_empty err
for word in canonicalize cse dce cancel split-all-reduce compose route -O0 -O2; do
    says out "$word"
done

# ---- streams
expect 0 "summary" "$CHIMERAC" --emit=ir "$plan"
for word in 'tp_pp: 8 ranks' 'all_reduce 1, shift 1' 'worst rank 160 MiB' 'tp 96 MiB' '2.50 times less' \
    'lower bound  64 MiB' 'meets' 'found: line'; do
    says err "$word"
done
says out '%x2 = all_gather'
expect 0 "quiet" "$CHIMERAC" -q --emit=ir "$plan" && is_empty err
expect 0 "compile is the default" "$CHIMERAC" compile -q --emit=ir "$plan" && is_empty err
cp out plain.ir
expect 0 "explain" "$CHIMERAC" -q --explain --emit=ir "$plan" && says err applied && says err missed
expect 0 "stats" "$CHIMERAC" -q --stats --emit=ir "$plan" && says err 'worst rank, received' && says err 'meets its bound'
expect 0 "times" "$CHIMERAC" -q --time-passes --emit=ir "$plan" && says err 'all passes'
expect 0 "after" "$CHIMERAC" -q --print-after=compose --emit=ir "$plan" && says err '# ---- after compose: 1 change ----'
expect 0 "after all" "$CHIMERAC" -q --print-after all --emit=ir "$plan" && says err '# ---- after dce: 0 changes ----'
expect 0 "changed" "$CHIMERAC" -q --print-changed --emit=ir "$plan" && says err '# ---- after route'
! grep -q 'after dce' err || bad "--print-changed shows a pass that changed nothing"
cmp -s out plain.ir || bad "reports change the output"
expect 0 "no passes" "$CHIMERAC" -q --passes= --emit=ir "$plan" && says out all_reduce
expect 0 "some passes" "$CHIMERAC" -q --passes cse,dce --emit=ir "$plan" && says out all_reduce

# ---- input
expect 0 "standard input" "$CHIMERAC" -q --emit=ir - <"$plan"
cmp -s out plain.ir || bad "standard input is not compiled alike"
expect 0 "IR by name" "$CHIMERAC" -q --emit=ir plain.ir
cmp -s out plain.ir || bad "IR does not come back as it is"
expect 0 "IR by -x" "$CHIMERAC" -q --emit=ir -x ir - <plain.ir
cmp -s out plain.ir || bad "IR from standard input does not come back as it is"
cp "$plan" ./run
expect 0 "a file named run" "$CHIMERAC" -q --emit=ir ./run
expect 0 "a file named run" "$CHIMERAC" -q --emit=ir compile run
expect 0 "letters in one word" "$CHIMERAC" -qO0 --emit ir -oto.ir "$plan" && is_empty err out
expect 0 "a file for -o" "$CHIMERAC" -qo - --emit=ir ./run && says out '%x2 = all_gather'
expect 0 "names after --" "$CHIMERAC" -q --emit=ir -- run
expect 0 "define" "$CHIMERAC" -q --emit=ir -Dseq=16 "$plan" && says out 'seq = 16'
expect 0 "the last define counts" "$CHIMERAC" -q --emit=ir -D seq=16 --define=seq=32 "$plan" && says out 'seq = 32'
expect 0 "ast" "$CHIMERAC" -q --emit=ast -D seq=16 "$plan" && says out 'seq = 16'

# ---- what does not fit
expect 1 "too little memory on a rank" "$CHIMERAC" -q -o no.c --max-buffer=64 -D seq=16 "$plan" && says err "more than the 64 that '--max-buffer' allows"
[ ! -e no.c ] || bad "there is an output although nothing fits"
expect 0 "run within --max-buffer" "$CHIMERAC" run -O3 --max-buffer=1GiB -D seq=16 "$plan"

# ---- run
expect 0 "run" "$CHIMERAC" run -D seq=16 "$plan" && says out 'tp_pp: ok ranks=8 seeds=3'
expect 0 "run" "$CHIMERAC" run -O0 -q --seed 7 --memory=1G -D seq=16 "$plan" && is_empty err
expect 0 "run, floats" "$CHIMERAC" run --float -D seq=16 "$plan" && says out ok
expect 1 "run, too little memory" "$CHIMERAC" run --memory=1K -D seq=16 "$plan" && says err limit
expect 0 "run, IR" "$CHIMERAC" run --passes=dce -x ir - <plain.ir || head err

# ---- colors
expect 1 "color" "$CHIMERAC" --color=always -D seq=0 "$plan"
says err "$(printf '\033')"
expect 1 "no color" "$CHIMERAC" -D seq=0 "$plan"
! grep -q "$(printf '\033')" err || bad "colors in a file"
finish
