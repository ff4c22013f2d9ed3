#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# netlab.sh - a rate-limited network of namespaces on this machine, and Open MPI over TCP in it.
#
#   netlab.sh probe                       whether this user and kernel can: silent, or says why not and exits with 77
#   netlab.sh up N RATE [TRUNK]           N ranks, each in a namespace of its own behind a link of RATE (tc syntax: 200mbit)
#                                         each way, on one switch; with TRUNK on two, N/2 ranks each, joined by one link of
#                                         TRUNK each way
#   netlab.sh run [--timeout S] PROG...   PROG over MPI, one rank in each namespace (S: 600)
#   netlab.sh down                        ends what runs in the namespaces, and removes them
#
#   environment: NETLAB_ID    names the namespaces, and so one network among others; 'netlab' by default
#                NETLAB_STATE folder of its files, made by up and removed by down; ${TMPDIR:-/tmp}/NETLAB_ID by default
#
# Needs root, iproute2, and veth, bridge, htb and bfifo in the kernel. Nothing is changed in the namespace of the caller:
# switches have one too. Each name is written down before it is made, and down removes just those.
set -u
id=${NETLAB_ID:-netlab}
state=${NETLAB_STATE:-${TMPDIR:-/tmp}/$id}
net=10.201.0 # in namespaces without a way out, so it may be in use elsewhere
window=262144
burst=64k
self=$(readlink -f "$0")

die() { echo "netlab.sh: $*" >&2; exit 1; }
inside() { ip netns exec "$1" "${@:2}"; }

add_namespace() {
    echo "$1" >>"$state/names" && ip netns add "$1" && ip -n "$1" link set lo up || return 1
    inside "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
    # A small window keeps the queues short, so that a barrier does not wait behind bulk data. A window rule that does not
    # probe: a newer one paces, and loss never comes.
    inside "$1" sysctl -qw net.ipv4.tcp_rmem="4096 131072 $window" net.ipv4.tcp_wmem="4096 65536 $window" \
        net.ipv4.tcp_congestion_control=reno || return 1
    inside "$1" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_no_metrics_save=1 2>/dev/null
    return 0
}

# shape NAMESPACE DEVICE RATE: what leaves the device, in a queue so deep that nothing is dropped.
shape() {
    inside "$1" tc qdisc replace dev "$2" root handle 1: htb default 20 &&
        inside "$1" tc class add dev "$2" parent 1: classid 1:20 htb rate "$3" burst "$burst" cburst "$burst" quantum 60000 &&
        inside "$1" tc qdisc add dev "$2" parent 1:20 bfifo limit 64mb
}

# plug NAMESPACE SWITCH PORT ADDRESS: a wire from eth0 there to a port of the switch.
plug() {
    ip -n "$1" link add eth0 type veth peer name "$3" netns "$id-sw" &&
        ip -n "$1" addr add "$4/24" dev eth0 && ip -n "$1" link set eth0 up &&
        ip -n "$id-sw" link set "$3" master "$2" && ip -n "$id-sw" link set "$3" up
}

add_switch() { ip -n "$id-sw" link add "$1" type bridge && ip -n "$id-sw" link set "$1" up; }

build() {
    local n=$1 rate=$2 trunk=$3 i switch
    add_namespace "$id-sw" && add_switch sw0 || return 1
    if [ -n "$trunk" ]; then
        add_switch sw1 && ip -n "$id-sw" link add t0 type veth peer name t1 || return 1
        for i in 0 1; do
            ip -n "$id-sw" link set "t$i" master "sw$i" && ip -n "$id-sw" link set "t$i" up &&
                shape "$id-sw" "t$i" "$trunk" || return 1
        done
    fi
    for ((i = 0; i < n; i++)); do
        switch=sw0
        [ -z "$trunk" ] || [ "$i" -lt $((n / 2)) ] || switch=sw1
        add_namespace "$id-r$i" && plug "$id-r$i" "$switch" "p$i" "$net.$((i + 1))" &&
            shape "$id-r$i" eth0 "$rate" && shape "$id-sw" "p$i" "$rate" || return 1
        echo "$net.$((i + 1))" >>"$state/hosts" || return 1
    done
    # Where mpirun runs, at an unlimited port, so that the launcher costs the ranks nothing.
    add_namespace "$id-head" && plug "$id-head" sw0 head "$net.250"
}

up() {
    local n=${1:?N} rate=${2:?RATE} trunk=${3:-}
    case $n in '' | *[!0-9]*) die "N must be a number" ;; esac
    if [ "$n" -lt 2 ] || [ "$n" -gt 64 ]; then die "N must be in 2..64"; fi
    [ -z "$trunk" ] || [ $((n % 2)) = 0 ] || die "two switches need an even N"
    mkdir "$state" 2>/dev/null || die "$state is there already: run down first"
    : >"$state/names"
    trap 'down; exit 1' INT TERM
    if ! build "$n" "$rate" "$trunk"; then
        down
        die "could not build the network; all removed again"
    fi
    trap - INT TERM
}

down() {
    local name signal try pid
    [ -f "$state/names" ] || { rm -rf "$state"; return 0; }
    while read -r name; do
        [ -e "/run/netns/$name" ] || continue
        for try in 1 2 3 4 5 6; do
            signal=TERM
            [ "$try" -le 2 ] || signal=KILL
            for pid in $(ip netns pids "$name" 2>/dev/null); do kill -"$signal" "$pid" 2>/dev/null; done
            [ -n "$(ip netns pids "$name" 2>/dev/null)" ] || break
            sleep 0.3
        done
        ip netns del "$name"
    done <"$state/names"
    rm -rf "$state"
}

# What mpirun takes for a remote shell: agent [OPTION...] HOST COMMAND... enters the namespace of the host, under a host
# name of its own.
agent() {
    local host name
    while [ $# -gt 0 ]; do case $1 in -*) shift ;; *) break ;; esac; done
    host=$1
    shift
    name=$id-r$((${host##*.} - 1))
    [ -e "/run/netns/$name" ] || die "no namespace for host $host"
    # shellcheck disable=SC2016 # for the inner shell
    exec ip netns exec "$name" unshare --uts /bin/sh -c 'hostname "$0"; exec /bin/sh -c "$1"' "$name" "$*"
}

run() {
    local limit=600 hosts n
    if [ "${1:-}" = --timeout ]; then
        limit=${2:?S}
        shift 2
    fi
    [ -f "$state/hosts" ] || die "not up"
    n=$(wc -l <"$state/hosts")
    hosts=$(paste -sd, "$state/hosts")
    printf '#!/bin/bash\nNETLAB_ID=%q NETLAB_STATE=%q exec %q agent "$@"\n' "$id" "$state" "$self" >"$state/agent"
    chmod +x "$state/agent"
    # All messages are eager. Open MPI's rendezvous sends its control messages through the socket that carries the bulk data
    # of the other way, so that opposite transfers take turns: 12 of 25 MB/s each way, in place of 23.5.
    inside "$id-head" timeout -k 5 "$limit" mpirun.openmpi --allow-run-as-root \
        --mca plm rsh --mca plm_rsh_agent "$state/agent" --mca plm_rsh_no_tree_spawn 1 \
        --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
        --mca btl_tcp_eager_limit 67108864 --mca btl_tcp_max_send_size 67108864 \
        --mca mpi_yield_when_idle 1 --mca orte_keep_fqdn_hostnames 1 --bind-to none --host "$hosts" -np "$n" "$@" </dev/null
}

probe() {
    local missing='' works=1 name
    [ "$(id -u)" = 0 ] || missing="root"
    for name in ip tc unshare mpirun.openmpi mpicc.openmpi; do
        command -v "$name" >/dev/null 2>&1 || missing="$missing${missing:+, }$name"
    done
    [ -z "$missing" ] || { echo "needs $missing"; exit 77; }
    name=$id-probe
    if ip netns add "$name" 2>/dev/null; then
        ip -n "$name" link add a0 type veth peer name a1 2>/dev/null && ip -n "$name" link add b0 type bridge 2>/dev/null &&
            shape "$name" a0 100mbit 2>/dev/null && inside "$name" unshare --uts true 2>/dev/null && works=0
        ip netns del "$name"
    fi
    [ "$works" = 0 ] || { echo "needs network namespaces with veth, bridge and htb, which this system does not allow"; exit 77; }
}

case ${1:-} in
probe | up | run | down | agent) "$@" ;;
*)
    sed -n '4,13p' "$self" >&2
    exit 2
    ;;
esac
