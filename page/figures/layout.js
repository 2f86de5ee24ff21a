// Where things lie: labels that keep apart, panels side by side, text that fits. Pure functions.

/**
 * Positions as near to the wanted ones as can be, `gap` or more apart and within [low, high], in
 * the order of the wanted ones: groups of labels that touch are moved as one to their mean.
 */
export function spread(wanted, gap, low, high) {
  const order = wanted.map((value, i) => i).sort((a, b) => wanted[a] - wanted[b] || a - b);
  const step = Math.min(gap, wanted.length > 1 ? (high - low) / (wanted.length - 1) : gap);
  const blocks = [];
  const start = block => Math.max(low,
    Math.min(
      block.sum / block.size - ((block.size - 1) * step) / 2, high - (block.size - 1) * step));
  for (const i of order) {
    blocks.push({sum: wanted[i], size: 1, members: [i]});
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1];
      const before = blocks[blocks.length - 2];
      if (start(before) + before.size * step <= start(last) + 1e-9) break;
      before.sum += last.sum;
      before.size += last.size;
      before.members = before.members.concat(last.members);
      blocks.pop();
    }
  }
  const positions = [];
  for (const block of blocks) {
    const from = start(block);
    block.members.forEach((member, i) => {
      positions[member] = from + i * step;
    });
  }
  return positions;
}

/**
 * A free place for a label at each point, by trying right, left, above and below, near and farther:
 * [{x, y, anchor}]. `points`: [{x, y, text}], `taken`: boxes [x0, y0, x1, y1] to keep clear of;
 * labels stay within `size` ({width, height}). null where nothing is free.
 */
export function placeLabels(points, taken, size, fontSize) {
  const boxes = taken.slice();
  const half = fontSize * 0.6;
  return points.map(point => {
    const wide = textWidth(point.text, fontSize);
    const places = [];
    for (const far of [11, 19, 28]) {
      places.push({x: point.x + far, y: point.y, anchor: 'start'},
        {x: point.x - far, y: point.y, anchor: 'end'},
        {x: point.x, y: point.y - far - 4, anchor: 'middle'},
        {x: point.x, y: point.y + far + 4, anchor: 'middle'},
        {x: point.x + far, y: point.y - far, anchor: 'start'},
        {x: point.x + far, y: point.y + far, anchor: 'start'},
        {x: point.x - far, y: point.y - far, anchor: 'end'},
        {x: point.x - far, y: point.y + far, anchor: 'end'});
    }
    const boxOf = place => {
      const left = place.anchor === 'start' ? place.x
        : place.anchor === 'end'            ? place.x - wide
                                            : place.x - wide / 2;
      return [left, place.y - half, left + wide, place.y + half];
    };
    const free = place => {
      const box = boxOf(place);
      if (box[0] < 0 || box[2] > size.width || box[1] < -6 || box[3] > size.height) return false;
      return boxes.every(
        other => box[2] < other[0] || other[2] < box[0] || box[3] < other[1] || other[3] < box[1]);
    };
    const chosen = places.find(free) || null;
    if (chosen) boxes.push(boxOf(chosen));
    return chosen;
  });
}

/**
 * Panels side by side: {columns, width} for `count` of them that need `least` pixels and `gap`
 * between.
 */
export function columnsFor(count, width, least, gap, most) {
  const room = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const columns = Math.max(1, Math.min(room, count, most || room));
  return {columns, width: (width - gap * (columns - 1)) / columns};
}

/** About how wide a text is in a proportional font of `size` pixels. */
export function textWidth(text, size) {
  let units = 0;
  for (const letter of String(text)) {
    units += /[iljtfrI.,:;'| ()[\]]/.test(letter) ? 0.36
      : /[mwMW%@]/.test(letter)                   ? 0.92
      : /[A-Z0-9×=_+·]/.test(letter)            ? 0.66
                                                  : 0.6;
  }
  return units * size;
}

/** The text, cut with an ellipsis where it is wider than `room` pixels. */
export function fit(text, room, size) {
  if (textWidth(text, size) <= room) return text;
  let cut = String(text);
  while (cut.length > 1 && textWidth(`${cut}…`, size) > room) cut = cut.slice(0, -1);
  return `${cut}…`;
}

/** Text in lines of at most `room` pixels, broken at spaces. */
export function wrap(text, room, size) {
  const lines = [];
  let line = '';
  for (const word of String(text).split(' ')) {
    const longer = line ? `${line} ${word}` : word;
    if (line && textWidth(longer, size) > room) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return line ? lines.concat(line) : lines;
}

/** The part of a list that page `page` (from 0) shows: {items, page, pages}. */
export function pageOf(list, page, size) {
  const pages = Math.max(1, Math.ceil(list.length / size));
  const at = Math.min(Math.max(0, Number(page) || 0), pages - 1);
  return {items: list.slice(at * size, (at + 1) * size), page: at, pages};
}
