#!/bin/sh
# Resolve every .in file here into a lock with hashes. Names, versions and hashes only: no index address.
set -eu
cd "$(dirname "$0")"
compile() { uv pip compile --generate-hashes --no-emit-index-url --no-header --no-annotate --quiet "$@"; }

compile --universal --python-version 3.11 project.in -o project.txt
compile --universal --python-version 3.11 --no-build --override engine-cpu.override engine-cpu.in -o engine-cpu.txt
compile --universal --python-version 3.11 --no-build --override engine-cuda.override engine-cuda.in -o engine-cuda.txt
echo "engine-cpu-torch.txt and engine-cpu-torch-cuda.txt are edited by hand: which build of torch pip sees differs by machine"
