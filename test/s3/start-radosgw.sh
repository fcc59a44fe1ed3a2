#!/bin/bash
# A real S3 server on loopback for tests, without containers and without installing anything: one ceph-mon, one ceph-osd
# that keeps its objects in memory, and radosgw. Runs until it is terminated, and then ends its processes.
#
# usage: start-radosgw.sh SCRATCH_FOLDER
#   CEPH_ROOT   where the Debian packages were unpacked; empty if they are installed
#   S3_PORT     of radosgw (54620); MON_PORT of the monitor (56789)
# Prints READY when it serves http://127.0.0.1:$S3_PORT with access key "rowmill" and secret key "rowmill-secret".
set -u
root=${CEPH_ROOT:-}
root=${root%/}
port=${S3_PORT:-54620}
mon_port=${MON_PORT:-56789}
scratch=${1:?usage: start-radosgw.sh SCRATCH_FOLDER}

lib=$root/usr/lib/$(uname -m)-linux-gnu
if [ -n "$root" ]; then
  export PATH=$root/usr/bin:$PATH
  export LD_LIBRARY_PATH=$root/lib/$(uname -m)-linux-gnu:$lib:$root/usr/lib:$lib/ceph:$root/usr/lib/ceph
  export PYTHONPATH=$root/usr/lib/python3/dist-packages
fi
for program in ceph ceph-mon ceph-osd radosgw radosgw-admin monmaptool; do
  command -v "$program" > /dev/null && continue
  echo "expected $program on PATH or under CEPH_ROOT: unpack the Debian packages ceph-mon, ceph-osd, ceph-common," \
    "radosgw and what they depend on into a folder (apt-get download, dpkg -x) and name it in CEPH_ROOT" >&2
  exit 2
done

mkdir -p "$scratch"/{mon,osd,run,rgw} || exit 1
fsid=$(cat /proc/sys/kernel/random/uuid)
cat > "$scratch/ceph.conf" << END
[global]
fsid = $fsid
mon host = v1:127.0.0.1:$mon_port
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
auth supported = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon warn on pool no redundancy = false
mon allow pool size one = true
run dir = $scratch/run
admin socket = $scratch/run/\$name.asok
log file = $scratch/\$name.log
pid file = $scratch/run/\$name.pid
plugin dir = $lib/ceph
erasure code dir = $lib/ceph/erasure-code
osd class dir = $lib/rados-classes
osd objectstore = memstore
osd class update on start = false
osd crush update on start = false
memstore device bytes = 4294967296
mon data = $scratch/mon
osd data = $scratch/osd
ms bind ipv6 = false
rgw frontends = beast endpoint=127.0.0.1:$port
rgw data = $scratch/rgw
rgw dns name = 127.0.0.1
public addr = 127.0.0.1
cluster addr = 127.0.0.1
END

pids=()
stop() {
  trap - EXIT TERM INT HUP
  for pid in "${pids[@]}"; do kill -9 "$pid" 2> /dev/null; done
  wait
  exit "${1:-0}"
}
trap 'stop 0' TERM INT HUP
trap 'stop 1' EXIT

run() { # NAME PROGRAM ARGUMENTS…: in the background, until the end of this script
  local name=$1
  shift
  "$@" -c "$scratch/ceph.conf" -f > "$scratch/$name.out" 2>&1 &
  pids+=($!)
}
ask() { timeout 20 ceph -c "$scratch/ceph.conf" --connect-timeout 15 "$@"; }
fail() {
  echo "expected $1 to start, got: $(tail -n 3 "$scratch/$2" 2> /dev/null)" >&2
  exit 1
}

{
  monmaptool --create --addv a "v1:127.0.0.1:$mon_port" --fsid "$fsid" "$scratch/monmap" &&
    ceph-mon -c "$scratch/ceph.conf" --mkfs -i a --monmap "$scratch/monmap" --keyring /dev/null
} > "$scratch/mkfs.out" 2>&1 || fail ceph-mon mkfs.out
run mon ceph-mon -i a
osd_uuid=$(cat /proc/sys/kernel/random/uuid)
ask osd new "$osd_uuid" -i /dev/null > "$scratch/ask.out" 2>&1 || fail ceph-mon ask.out
ceph-osd -c "$scratch/ceph.conf" -i 0 --mkfs --osd-uuid "$osd_uuid" > "$scratch/osd-mkfs.out" 2>&1 ||
  fail ceph-osd osd-mkfs.out
run osd ceph-osd -i 0
ask osd crush add osd.0 1 host=h root=default > "$scratch/ask.out" 2>&1 || fail ceph-osd ask.out
run rgw radosgw -n client.rgw
rgw=${pids[-1]}
until (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do
  kill -0 "$rgw" 2> /dev/null || fail radosgw rgw.out
  sleep 0.2
done
timeout 60 radosgw-admin -c "$scratch/ceph.conf" -n client.rgw user create --uid=rowmill --display-name=rowmill \
  --access-key=rowmill --secret-key=rowmill-secret > "$scratch/user.out" 2>&1 || fail radosgw-admin user.out
echo READY
wait "$rgw"
fail radosgw rgw.out
