# Steps and environment that .ci/run and .ci/thorough share; they source this file.
# Python compiles what a test imports; pip would compile all, which is two fifths of the time of an install.
# Where it may not keep that, each program that a test starts compiles all again.
unset PYTHONDONTWRITEBYTECODE
export CI=true PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_COMPILE=0
export FIELDMARK_SHARED="${FIELDMARK_SHARED:-$PWD/../shared}"
[ -d "$FIELDMARK_SHARED" ] || { echo "no shared data at $FIELDMARK_SHARED"; exit 1; }
# Tests make many small databases, and wait for the disk half of the time.
in_memory=$(df --output=avail /dev/shm 2> /dev/null | tail -n 1) || true
[ "${in_memory:-0}" -lt 8000000 ] || export PYTEST_DEBUG_TEMPROOT=/dev/shm
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

step() { # NAME COMMAND...: run a step, say what it is and how many seconds it took
  local name=$1 began=$SECONDS failed=0
  shift
  printf '\n=== %s\n' "$name"
  # Not `"$@" || ...`: there bash ignores -e within the step, and what follows a failed line would run on.
  set +e
  (set -e && "$@")
  failed=$?
  set -e
  printf '=== %s: %s, %d s\n' "$([ "$failed" = 0 ] && echo done || echo FAILED)" "$name" $((SECONDS - began)) | tee -a "$logs/steps"
  return "$failed"
}

together() { # NAME=COMMAND...: steps at once; the output of each is printed whole, in this order; stop if one fails
  local each pids=() failed=0
  for each; do
    step "${each%%=*}" "${each#*=}" > "$logs/${#pids[@]}" 2>&1 &
    pids+=($!)
  done
  for each in "${!pids[@]}"; do
    wait "${pids[each]}" || failed=1
    cat "$logs/$each"
  done
  [ "$failed" = 0 ] || { summary; exit 1; }
}

tests() { # PROGRAM ARGUMENTS...: run pytest; its last line is repeated at the end of the run
  local output
  output=$(mktemp -p "$logs")
  "$@" | tee "$output"
  echo "${FUNCNAME[1]}: $(tail -n 1 "$output")" >> "$logs/summaries"
}

summary() {
  printf '\n'
  cat "$logs/steps"
  printf '=== %d s in all\n' "$SECONDS"
  cat "$logs/summaries" 2> /dev/null || true
}

system_packages() { # PROGRAM=PACKAGE...: Debian's packages of missing programs, and MediaWiki unless a wiki is given
  local each missing=() as_root=()
  for each; do command -v "${each%%=*}" > /dev/null || missing+=("${each#*=}"); done
  [ -n "${FIELDMARK_TEST_WIKI:-}" ] || { [ -d /usr/share/mediawiki ] && command -v php > /dev/null; } ||
    missing+=(mediawiki php-cli php-sqlite3 php-mbstring php-xml php-intl php-gd)
  [ "${#missing[@]}" -gt 0 ] || { echo "already installed"; return; }
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

environment() { # FOLDER PACKAGES...: a new virtual environment; without pip's cache, which would hold gigabytes twice
  local folder=$1
  shift
  rm -rf "$folder"
  "${python:-python3}" -m venv "$folder"
  "$folder/bin/pip" install -q --no-cache-dir "$@"
}
