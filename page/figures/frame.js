// What all figures are drawn with: the svg and its names, axes, marks with hover and keys, labels.

import {select, symbol} from 'd3';

import {fit, spread, textWidth, wrap} from './layout.js';

/** Colours of the page, which follow its theme; the fallbacks are those of a light page. */
export const tone = {
  ink: 'var(--text, #1b1d21)',
  muted: 'var(--muted, #5d646e)',
  faint: 'var(--line, #e2e3e1)',
  surface: 'var(--surface, #ffffff)',
  accent: 'var(--accent, #0b62c4)',
  good: 'var(--good, #1a7f37)',
  bad: 'var(--bad, #c4281c)',
  warn: 'var(--warn, #9a6700)'
};

/** The empty svg of a figure, with its title and description for those who do not see it. */
export function svgOf(context, node, {id, title, about, width, height}) {
  const svg = select(
    node).append('svg')
                .attr('class', `figure figure-${id}`)
                .attr('width', width)
                .attr('height', height)
                .attr('viewBox', `0 0 ${width} ${height}`)
                .attr('role', 'group')
                .attr('aria-label', title)
                .attr('xmlns', 'http://www.w3.org/2000/svg')
                .style('max-width', '100%')
                .style('height', 'auto')
                .style('font-size', '12px');
  svg.append('title').text(title);
  svg.append('desc').text(about);
  return svg;
}

/** Another height, where it is known only once something has been drawn. */
export function resize(svg, width, height) {
  svg.attr('height', height).attr('viewBox', `0 0 ${width} ${height}`);
}

/** A group moved to (x, y). */
export function groupAt(parent, x, y) {
  return parent.append('g').attr('transform', `translate(${x},${y})`);
}

/** A text; `look`: anchor, size, weight, fill, halo (so that lines do not cross it), title. */
export function write(parent, x, y, text, look) {
  const how = Object.assign({anchor: 'start', size: 12, weight: 400, fill: tone.ink}, look);
  const label = parent.append('text')
                  .attr('x', x)
                  .attr('y', y)
                  .attr('dy', '0.35em')
                  .attr('text-anchor', how.anchor)
                  .attr('font-size', how.size)
                  .attr('font-weight', how.weight)
                  .style('fill', how.fill)
                  .text(text);
  if (how.halo) {
    label.style('stroke', tone.surface)
      .attr('stroke-width', 3)
      .attr('stroke-linejoin', 'round')
      .attr('paint-order', 'stroke');
  }
  if (how.title) label.append('title').text(how.title);
  return label;
}

/** The heading of a panel in at most two lines, from y = 0 on; returns its height. */
export function heading(parent, text, width) {
  const lines = wrap(text, width * 0.92, 12.5).slice(0, 2);
  lines.forEach(
    (line, i) => write(parent, 0, 8 + i * 16, line, {size: 12.5, weight: 600, title: text}));
  return 8 + lines.length * 16;
}

export function rule(parent, x1, y1, x2, y2, look) {
  const how = Object.assign({stroke: tone.faint, width: 1}, look);
  const line = parent.append('line')
                 .attr('x1', x1)
                 .attr('y1', y1)
                 .attr('x2', x2)
                 .attr('y2', y2)
                 .attr('stroke-width', how.width)
                 .style('stroke', how.stroke)
                 .attr('stroke-dasharray', how.dash || null);
  return line;
}

/** Ticks, grid and label below a panel of this width and height. */
export function axisBelow(parent, {scale, ticks, format, label, width, height, grid}) {
  const axis = parent.append('g').attr('class', 'axis').attr('aria-hidden', 'true');
  let free = -Infinity;
  for (const tick of ticks) {
    const x = scale(tick);
    if (grid !== false) rule(axis, x, 0, x, height);
    const text = format(tick);
    const half = textWidth(text, 11) / 2;
    if (x - half < free) continue;
    free = x + half + 6;
    rule(axis, x, height, x, height + 4, {stroke: tone.muted});
    write(axis, x, height + 13, text, {anchor: 'middle', size: 11, fill: tone.muted});
  }
  rule(axis, 0, height, width, height, {stroke: tone.muted});
  if (label) write(axis, width, height + 29, label, {anchor: 'end', size: 11, fill: tone.muted});
}

/** Ticks, grid and label left of a panel. */
export function axisLeft(parent, {scale, ticks, format, label, width, grid}) {
  const axis = parent.append('g').attr('class', 'axis').attr('aria-hidden', 'true');
  for (const tick of ticks) {
    const y = scale(tick);
    if (grid !== false) rule(axis, 0, y, width, y);
    write(axis, -7, y, format(tick), {anchor: 'end', size: 11, fill: tone.muted});
  }
  if (label) write(axis, -7, -12, label, {anchor: 'start', size: 11, fill: tone.muted});
}

/** The outline of a variant's symbol. */
export function symbolPath(context, variant, size) {
  return symbol().type(context.symbol(variant)).size(size || 64)();
}

/**
 * A variant's mark at (x, y). Peers' are hollow. `datum` is what hover is asked about; an unseen
 * circle round it makes it easy to hit.
 */
export function mark(context, parent, x, y, row, datum, look) {
  const how = Object.assign({size: 60, hollow: row.peer, opacity: 1, reach: 9}, look);
  const colour = context.colour(row.variant);
  const place = parent.append('g')
                  .datum(datum)
                  .attr('class', 'mark')
                  .attr('data-variant', row.variant)
                  .attr('transform', `translate(${x.toFixed(2)},${y.toFixed(2)})`);
  if (how.reach) place.append('circle').attr('r', how.reach).style('fill', 'transparent');
  place.append('path')
    .attr('d', symbolPath(context, row.variant, how.size))
    .style('fill', how.hollow ? tone.surface : colour)
    .style('stroke', how.hollow ? colour : tone.surface)
    .attr('stroke-width', how.hollow ? 1.8 : 0.8)
    .attr('opacity', how.opacity);
  return place;
}

/** A variant's symbol and name, as in a key; `name` may say more than the variant's. */
export function keyEntry(context, parent, x, y, row, name, look) {
  const entry = parent.append('g').attr('class', 'key').attr('data-variant', row.variant);
  mark(context, entry, x, y, row, null, {size: 50, reach: 0}).attr('class', 'key-mark');
  write(entry, x + 9, y, name || row.variant, Object.assign({size: 11.5}, look));
  return entry;
}

/** Keys in lines of at most `width`: returns the height that they take. */
export function keyLines(context, parent, rows, width) {
  let x = 7;
  let y = 8;
  for (const row of rows) {
    const room = textWidth(row.variant, 11.5) + 26;
    if (x > 7 && x + room > width) {
      x = 7;
      y += 18;
    }
    keyEntry(context, parent, x, y, row, row.variant);
    x += room;
  }
  return rows.length ? y + 10 : 0;
}

/**
 * Names at the right of a panel, each beside the end of what it names and led to it where it had to
 * give way. `labels`: [{x, y, text, colour, fill?, variant?}].
 */
export function endLabels(parent, labels, {x, low, high, room}) {
  const places = spread(labels.map(label => label.y), 14, low, high);
  labels.forEach((label, i) => {
    const group = parent.append('g');
    if (label.variant) group.attr('class', 'key').attr('data-variant', label.variant);
    const turn = Math.max(label.x + 6, x - 8);
    group.append('path')
      .attr('fill', 'none')
      .attr('stroke-width', 1)
      .attr('opacity', 0.6)
      .attr('d', `M${label.x + 6},${label.y}L${turn},${label.y}L${x - 2},${places[i]}`)
      .attr('stroke-dasharray', '1 2')
      .style('stroke', label.colour);
    write(group, x + 1, places[i], fit(label.text, room, 11.5),
      {size: 11.5, halo: true, title: label.text, fill: label.fill || tone.ink});
  });
}

/** Names at the places that placeLabels() found, with a thin line to what had to be left. */
export function writeNear(parent, points, places, look) {
  places.forEach((place, i) => {
    if (!place) return;
    const point = points[i];
    if (Math.hypot(place.x - point.x, place.y - point.y) > 16) {
      rule(parent, point.x, point.y, place.x, place.y, {stroke: tone.muted, width: 0.8});
    }
    write(parent, place.x, place.y, point.text,
      Object.assign({halo: true}, look, {anchor: place.anchor}));
  });
}

/** Diagonal lines in a colour, to fill with: url(#id). */
export function hatch(context, svg, id, colour) {
  const pattern = svg.append('defs')
                    .append('pattern')
                    .attr('id', id)
                    .attr('width', 6)
                    .attr('height', 6)
                    .attr('patternUnits', 'userSpaceOnUse')
                    .attr('patternTransform', 'rotate(45)');
  pattern.append('rect').attr('width', 6).attr('height', 6).style('fill', tone.surface);
  pattern.append('rect').attr('width', 2.2).attr('height', 6).style('fill', colour);
  return `url(#${id})`;
}

/** While the pointer is on a variant's name, what is of other variants steps back. */
function singleOut(svg) {
  const shade = variant => {
    for (const node of svg.querySelectorAll('[data-variant]')) {
      const other = variant !== null && node.getAttribute('data-variant') !== variant;
      node.style.opacity = other ? '0.12' : '';
    }
  };
  const variantOf = event => {
    const key = event.target.closest('.key');
    return key ? key.getAttribute('data-variant') : null;
  };
  let shown = null;
  svg.addEventListener('pointerover', event => {
    const variant = variantOf(event);
    if (variant === shown) return;
    shown = variant;
    shade(variant);
  });
  svg.addEventListener('pointerleave', () => {
    shown = null;
    shade(null);
  });
}

/**
 * Marks that tell what they are and can be chosen, by the pointer and by the keys (page/hover.js).
 * `describe(datum)` is a row, or {title, lines, row}; `say(datum)` is what a screen reader reads.
 */
export function interactive(context, selection, {describe, say}) {
  selection.attr('role', 'img').attr('aria-label', say);
  if (!selection.empty()) singleOut(selection.node().ownerSVGElement);
  if (context.hover) context.hover(selection, describe);
}
