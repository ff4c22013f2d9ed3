#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The emitted C as a text: short, independent of the mesh's size, quiet under two compilers, with names that never meet.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
mpi=openmpi
# shellcheck source=tests/e2e/mpi.inc
. "$CHIMERA_SOURCE_DIR/tests/e2e/mpi.inc"

lines() {
    wc -l <"$1"
}
for driver in '' --driver; do
    # shellcheck disable=SC2086 # an option or none
    expect 0 "tp_pp" "$CHIMERAC" -q $driver -o tp_pp.c "$pairs/tp_pp.plan"
    [ "$(lines tp_pp.c)" -lt 150 ] || bad "tp_pp $driver takes $(lines tp_pp.c) lines"
done
for tp in 16 128; do
    sed "s/tp = 4/tp = $tp/" "$pairs/tp_pp.plan" >"ranks-$tp.plan"
    expect 0 "tp_pp" "$CHIMERAC" -q -O1 --driver -o "ranks-$tp.c" -D seq=1024 "ranks-$tp.plan"
done
[ "$(lines ranks-16.c)" -eq "$(lines ranks-128.c)" ] || bad "the emitted C grows with the mesh"

# ---- compilers
for plan in "$pairs"/*.plan "$multi"/*.plan; do
    name=$(basename "$plan" .plan)
    for driver in '' --driver; do
        # shellcheck disable=SC2086 # an option or none
        expect 0 "$name" "$CHIMERAC" -q $driver -o "$name.c" "$plan"
        for cc in gcc clang; do
            command -v $cc >cc.path || continue
            expect 0 "$name with $cc" env OMPI_CC=$cc "$mpicc" -std=c11 -O2 -Wall -Wextra -pedantic -Werror -Wshadow \
                -I"$runtime" -c "$name.c" -o "$name.o"
        done
    done
    ! awk 'length > 120' "$name.c" | grep . || bad "$name: lines of more than 120 columns"
done

# ---- the header is the head of the C file, and either order of the two works
expect 0 "header" "$CHIMERAC" -q --emit=h -o tp_pp.h "$pairs/tp_pp.plan"
expect 0 "C" "$CHIMERAC" -q -o tp_pp.c "$pairs/tp_pp.plan"
head -n "$(lines tp_pp.h)" tp_pp.c | cmp - tp_pp.h || bad "the header is not the head of the C file"
cat >user.c <<'END'
#include "tp_pp.h"
#include "tp_pp.c"
#include "tp_pp.h"
int main(void) { return 0; }
END
expect 0 "a user" mpi_cc -c user.c -o user.o

# ---- a caller in C++ asks the linker for the names of C
cat >caller.cc <<'END'
#include "tp_pp.h"
int main() { return tp_pp_rerun(nullptr); }
END
if command -v g++ >cc.path; then
    expect 0 "a caller in C++" env OMPI_CC=g++ "$mpicc" -std=c++11 -DOMPI_SKIP_MPICXX -Wall -Wextra -Werror -c caller.cc -o caller.o
    nm caller.o | grep -q ' U tp_pp_rerun$' || bad "a caller in C++ asks for a mangled name"
fi

# ---- names that could meet: C's words, our own, one dim at two places, axes and values alike
cat >names.txt <<'END'
x
int
main
mesh
groups
type_0
status
plan_int
in_x
rt
create
message
made
step
copy
cut_step
base
baseline
optimized
do_baseline
run_as
BUFSIZ
SIZE_MAX
SEEK_SET
OPEN_MPI
INT8_C
offsetof
timer
MPI_Comm
class
template
namespace
co_await
wchar_t
and
END
while read -r name; do
    cat >"n-$name.ir" <<END
plan $name
mesh mesh (x = 2, plan = 2)
tensor x : bf16[mesh = 6, x = 5]
tensor rt : i8[x = 4, mesh = 3]
%x = input x : [mesh/x, x] partial(plan)
%rt = input rt : [x/plan, mesh]
%mesh = all_reduce %x over (plan) : [mesh/x, x]
%run = all_to_all %mesh over (x) from mesh to x : [mesh, x/x]
%status = all_gather %rt over (plan) dim x : [x, mesh]
%destroy = slice %status over (x, plan) dim mesh : [x, mesh/x/plan]
output x = %run
output run = %rt
output plan = %destroy
output arena = %destroy
output comm = %rt
END
    expect 0 "the name $name" "$CHIMERAC" -q -O0 --driver -o "n-$name.c" "n-$name.ir" &&
        expect 0 "the name $name" mpi_cc -c "n-$name.c" -o n.o
    expect 0 "the name $name" "$CHIMERAC" -q -O0 --emit=h -o n.h "n-$name.ir"
    if [ -s cc.path ]; then
        echo '#include "n.h"' >n.cc
        expect 0 "the name $name in C++" env OMPI_CC=g++ "$mpicc" -std=c++20 -DOMPI_SKIP_MPICXX -Wall -Wextra -Werror -fsyntax-only n.cc
    fi
done <names.txt

# ---- the same input gives the same bytes
"$CHIMERAC" -q --driver "$multi/moe_4d.plan" >one.c
(mkdir -p elsewhere && cd elsewhere && "$CHIMERAC" -q --driver - <"$multi/moe_4d.plan") >two.c
cmp one.c two.c || bad "two runs give two texts"
finish
