#!/usr/bin/env bash
# Make the pictures of the documentation: docs/pictures/make.sh [card|plates|charts ...]
# Needs `kb` and `python` of an installed Fieldmark on the path; card: chromium; charts: the bird data and its trained models.
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
  python -c "from PIL import Image; import sys; p = sys.argv[1]; Image.open(p).convert('RGB').quantize(256).save(p, optimize=True)" \
    "$pictures/card.png"
  rm -rf "$work"
}

plates() { python -m training.plates sheet "$pictures/plates.png"; }

charts() { python -m training.starter.confidence.reliability --data ../shared/birds --work work --pictures "$pictures"; }

for picture in "${@:-card}"; do "$picture"; done
