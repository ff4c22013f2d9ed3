#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""platform.py KIND [ARGS] > platform.xml : SimGrid platforms for smpirun, hosts n0..n(N-1), full-duplex links.

  star N [BW LAT]                     one switch
  two-level NODES PER [INTRA INTER LAT [LAT_INSIDE]]  NODES switches of PER hosts; one up-link of rate INTER a node
  nic NODES PER [INTRA INTER LAT [LAT_INSIDE]]        the same, but every host has an up-link of its own (a NIC a GPU)
  torus X Y [BW LAT]                  2D torus (SimGrid's own TORUS cluster), hosts along X first
  torus3 X Y Z [BW LAT]               3D torus
  mesh X Y [BW LAT]                   2D mesh without wrap-around, XY routing (explicit routes: up to about 8x8)
  fattree / dragonfly                 64 hosts, as samples

LAT is that of one link. A route has two links on a star, inside a node, and between NICs; four between nodes of two-level; one
a hop on a torus or mesh.
"""
import math
import sys
HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'
SPEED = 'speed="100Gf"'


def cluster(n, bw, lat, extra=""):
    return f'<cluster id="c" prefix="n" suffix="" radical="0-{n - 1}" {SPEED} bw="{bw}" lat="{lat}" sharing_policy="SPLITDUPLEX" loopback_bw="500GBps" loopback_lat="10ns"{extra}/>\n'


def link(name, bw, lat):
    return f'<link id="{name}" bandwidth="{bw}" latency="{lat}" sharing_policy="SPLITDUPLEX"/>\n'


def edge(a, b, name):
    return "".join(f'<route src="{s}" dst="{d}" symmetrical="NO"><link_ctn id="{name}" direction="{way}"/></route>\n'
                   for s, d, way in ((a, b, "UP"), (b, a, "DOWN")))


def two_level(nodes, per, intra, inter, lat, inside="100ns"):
    n = nodes * per
    out = ['<zone id="z" routing="Floyd">\n']
    out += [f'<host id="n{i}" {SPEED}/>\n' for i in range(n)]
    out += [f'<router id="s{k}"/>\n' for k in range(nodes)] + ['<router id="core"/>\n']
    out += [link(f"l{i}", intra, inside) for i in range(n)] + [link(f"u{k}", inter, lat) for k in range(nodes)]
    out += [edge(f"n{i}", f"s{i // per}", f"l{i}") for i in range(n)] + [edge(f"s{k}", "core", f"u{k}") for k in range(nodes)]
    return "".join(out) + "</zone>\n"


def nic(nodes, per, intra, inter, lat, inside="100ns"):
    n = nodes * per
    out = ['<zone id="z" routing="Full">\n']
    out += [f'<host id="n{i}" {SPEED}/>\n' for i in range(n)]
    out += [link(f"l{i}", intra, inside) + link(f"u{i}", inter, lat) for i in range(n)]
    for a in range(n):
        for b in range(n):
            if a != b:
                name = "l" if a // per == b // per else "u"
                out.append(f'<route src="n{a}" dst="n{b}" symmetrical="NO"><link_ctn id="{name}{a}" direction="UP"/><link_ctn id="{name}{b}" direction="DOWN"/></route>\n')
    return "".join(out) + "</zone>\n"


def mesh(X, Y, bw, lat):
    n = X * Y
    out = ['<zone id="z" routing="Full">\n'] + [f'<host id="n{i}" {SPEED}/>\n' for i in range(n)]
    for i in range(n):
        x, y = i % X, i // X
        out += [link(f"e{i}-{j}", bw, lat) for j, ok in ((i + 1, x + 1 < X), (i + X, y + 1 < Y)) if ok]
    for a in range(n):
        for b in range(n):
            if a == b:
                continue
            at, hops = a, []
            while at != b:
                x, y, bx, by = at % X, at // X, b % X, b // X
                to = at + (1 if bx > x else -1) if x != bx else at + (X if by > y else -X)
                hops.append(f'<link_ctn id="e{min(at, to)}-{max(at, to)}" direction="{"UP" if at < to else "DOWN"}"/>')
                at = to
            out.append(f'<route src="n{a}" dst="n{b}" symmetrical="NO">{"".join(hops)}</route>\n')
    return "".join(out) + "</zone>\n"


def main(kind, *a):
    if kind == "star":
        body = cluster(int(a[0]), *(a[1:3] or ("50GBps", "100ns")))
    elif kind in ("torus", "torus3"):
        dims = 2 if kind == "torus" else 3
        body = cluster(math.prod(map(int, a[:dims])), *(a[dims:dims + 2] or ("50GBps", "100ns")),
                       f' topology="TORUS" topo_parameters="{",".join(a[:dims])}"')
    elif kind == "mesh":
        body = mesh(int(a[0]), int(a[1]), *(a[2:4] or ("50GBps", "100ns")))
    elif kind in ("two-level", "nic"):
        body = (two_level if kind == "two-level" else nic)(int(a[0]), int(a[1]), *(a[2:6] or ("300GBps", "50GBps", "1us")))
    elif kind == "fattree":
        body = cluster(64, "50GBps", "100ns", ' topology="FAT_TREE" topo_parameters="2;8,8;1,1;1,8"')
    elif kind == "dragonfly":
        body = cluster(64, "50GBps", "100ns", ' topology="DRAGONFLY" topo_parameters="4,1;4,1;2,1;2"')
    else:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + body + "</platform>\n")


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
