#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The figures of the six pairs: as written, optimized, bound, in units of one tensor; and the JSON against its schema.
# shellcheck source=tests/e2e/common.inc
. "$(dirname "$0")/common.inc"
cat >figures.txt <<'END'
tp_sp 1.75     0.875    0.875
tp_pp 2.5      1.0      1.0
tp_ep 0.859375 0.484375 0.4375
pp_sp 1.75     1.0      1.0
pp_ep 0.4375   0.25     0.25
sp_ep 0.6875   0.21875  0.21875
END
while read -r name written optimized bound; do
    expect 0 "$name" "$CHIMERAC" -q --emit=json "$pairs/$name.plan" && cp out "$name.json"
    expect 0 "$name: figures" "$PYTHON" - "$name.json" "$written" "$optimized" "$bound" <<'END' || cat out
import json, math, sys
with open(sys.argv[1], encoding="utf-8") as f:
    plan = json.load(f)
written, optimized, bound = map(float, sys.argv[2:])
tensor = plan["tensors"][0]
unit = math.prod(d["size"] for d in tensor["dims"]) * 4
assert tensor["dtype"] == "f32" and unit == 64 << 20, tensor
t = plan["traffic"]
worst = {k: max(t[k]["sent_bytes"], t[k]["received_bytes"]) / unit for k in ("baseline", "optimized")}
print(worst, t["lower_bound_bytes"] / unit)
assert worst["baseline"] == written
assert worst["optimized"] <= optimized
assert t["lower_bound_bytes"] == bound * unit
assert t["optimized"]["time_s"] <= t["baseline"]["time_s"]
END
done <figures.txt

"$PYTHON" -c 'import jsonschema' 2>/dev/null || { [ "$failures" -eq 0 ] && skip "no jsonschema for Python"; }
cat >validate.py <<'END'
import json, sys
import jsonschema
with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft7Validator.check_schema(schema)
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as f:
        jsonschema.Draft7Validator(schema).validate(json.load(f))
END
n=0
for plan in "$pairs"/*.plan "$multi"/*.plan; do
    for level in 0 1 2 3; do
        n=$((n + 1))
        expect 0 "json" "$CHIMERAC" -q -O$level --emit=json -o "all-$n.json" "$plan"
    done
done
# Every op, an axis of size 1, and counts that a double cannot hold.
cat >ops.ir <<'END'
plan ops
mesh m (a = 2, b = 3, one = 1)
tensor x : i8[i = 9007199254740993, j = 8]
tensor y : f64[i = 12, j = 6]
%x0 = input x : [i, j] at(a=1)
%1 = broadcast %x0 a from 1 : [i, j]
%2 = slice %1 over (a, b) dim i : [i/a/b, j]
%3 = all_to_all %2 over (b) from i to j : [i/a, j/b]
%4 = all_gather %3 over (a) dim i : [i, j/b]
%5 = drop %4 a = 0 : [i, j/b] at(a=0)
%6 = shift %5 a 0 -> 1 : [i, j/b] at(a=1)
%7 = exchange %6 : [i/b, j] at(a=0)
output r = %7
%y0 = input y : [i, j] partial(a, b)
%8 = reduce_scatter %y0 over (b) dim i : [i/b, j] partial(a)
%9 = reduce %8 a to 1 : [i/b, j] at(a=1)
output s = %9
%10 = reduce_exchange %y0 : [i, j/a] partial(b)
%11 = all_reduce %10 over (b) : [i, j/a]
output t = %11
%12 = pipeline %y0 dim i chunks 2 {
  reduce_scatter over (b) dim j : [i, j/b] partial(a)
  reduce a to 1 : [i, j/b] at(a=1)
  shift a 1 -> 0 : [i, j/b] at(a=0)
  exchange : [i, j/b/a]
} : [i, j/b/a]
output u = %12
END
expect 0 "json, every op" "$CHIMERAC" -q -O0 --emit=json -o ops.json ops.ir
says ops.json '9007199254740993'
expect 0 "schema" "$PYTHON" validate.py "$CHIMERA_SOURCE_DIR/compiler/emit/chimera.schema.json" ./*.json || cat err
echo '{"plan": 1}' >wrong.txt
expect 1 "the schema refuses" "$PYTHON" validate.py "$CHIMERA_SOURCE_DIR/compiler/emit/chimera.schema.json" wrong.txt
finish
