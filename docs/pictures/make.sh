#!/usr/bin/env bash
# Make the pictures of the documentation: docs/pictures/make.sh [card|page|plates|charts ...]
# Needs `kb` and `python` of an installed Fieldmark on the path; card, page: chromium; charts: the bird data and its trained models.
# how_it_works.svg is drawn by hand.
set -euo pipefail
cd "$(dirname "$0")/../.."
pictures=$PWD/docs/pictures

card() { # a page of `kb identify --cards`, of a drawing of the demo
  local work
  work=$(mktemp -d)
  kb demo --workdir "$work/demo" -q > /dev/null
  kb identify "$work/demo/pictures/cyanocitta-cristata.png" --kb "$work/demo/birds.kb" --cards "$work/cards" --top 3 -q
  chromium --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=0.8 --window-size=1100,836 \
    --screenshot="$pictures/card.png" "file://$(echo "$work"/cards/*.html)"
  small "$pictures/card.png"
  rm -rf "$work"
}

page() { # the review of kb serve, of the drawings of the demo
  local work server
  work=$(mktemp -d)
  kb demo --workdir "$work/demo" -q > /dev/null
  kb identify "$work/demo/pictures" --kb "$work/demo/birds.kb" --output "$work/demo/pictures/fieldmark.jsonl" -q
  kb serve --kb "$work/demo/birds.kb" --photos "$work/demo/pictures" --port 8123 &
  server=$!
  for _ in {1..60}; do curl -so /dev/null http://127.0.0.1:8123/healthz && break; sleep 1; done
  chromium --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=0.8 --window-size=1100,836 \
    --screenshot="$pictures/page.png" "http://127.0.0.1:8123/folders/0?order=confidence"
  kill "$server"
  small "$pictures/page.png"
  rm -rf "$work"
}

small() { # 256 colours
  python -c "from PIL import Image; import sys; p = sys.argv[1]; Image.open(p).convert('RGB').quantize(256).save(p, optimize=True)" "$1"
}

plates() { python -m training.plates sheet "$pictures/plates.png"; }

charts() { python -m training.starter.confidence.reliability --data ../shared/birds --work work --pictures "$pictures"; }

for picture in "${@:-card}"; do "$picture"; done
