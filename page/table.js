// Every record in a table of which only what is in sight is there.

import {append, element, fill} from './dom.js';
import {copyButton} from './panel.js';
import * as formats from './formats.js';
import {swatch} from './swatch.js';

const rowHeight = 30; // as .records tr in page.css
const overscan = 12;
const printed = 300;
const commandWidth = 76;
const pause = 120; // ms without a key, so that typing does not wait for 20,000 records

/**
 * A column: the row's field, its heading and width in pixels; `show`: a number as text; `once`: is
 * said once above the table where all rows have the same; `screen`: not on paper, which is narrow.
 */
export const columns = [
  {key: 'name', label: 'variant', width: 170, once: true},
  {key: 'tile_label', label: 'tile', width: 300},
  {key: 'operator', label: 'operator', width: 130, once: true},
  {key: 'direction', screen: true, label: 'direction', width: 84, once: true},
  {key: 'dtype', label: 'dtype', width: 82, once: true},
  {key: 'shape', label: 'shape', width: 245, once: true},
  {key: 'gate', label: 'gate', width: 90, once: true},
  {key: 'options_label', label: 'options', width: 180, once: true},
  {key: 'status', label: 'status', width: 88, once: true},
  {key: 'cold_ms', label: 'time', width: 84, show: row => formats.duration(row.cold_ms),
    title: 'Median with cold caches'},
  {key: 'hot_ms', screen: true, label: 'hot', width: 84, show: row => formats.duration(row.hot_ms),
    title: 'Median with hot caches'},
  {key: 'sustained_ms', screen: true, label: 'sustained', width: 84,
    show: row => formats.duration(row.sustained_ms),
    title: 'Median back to back over copies of the tensors that exceed the last-level cache'},
  {key: 'of_floor', label: 'of floor', width: 72, show: row => formats.percent(row.of_floor),
    title: 'Time of the floor bytes at the measured copy rate, over the time'},
  {key: 'tflop_per_s', label: 'TFLOP/s', width: 72,
    show: row => formats.significant(row.tflop_per_s)},
  {key: 'gb_per_s', screen: true, label: 'GB/s', width: 66,
    show: row => formats.significant(row.gb_per_s), title: 'Floor bytes over the time'},
  {key: 'measured_bytes', label: 'moved', width: 84,
    show: row => formats.bytes(row.measured_bytes), title: 'Bytes to and from memory, counted'},
  {key: 'workspace_bytes', screen: true, label: 'workspace', width: 88,
    show: row => formats.bytes(row.workspace_bytes)},
  {key: 'error', label: 'error', width: 72, show: row => formats.error(row.error),
    title: 'Relative L2 error of the output that uses most of its bound'},
  {key: 'bound', screen: true, label: 'bound', width: 72, show: row => formats.error(row.bound)},
  {key: 'joules', screen: true, label: 'energy', width: 76,
    show: row => formats.energy(row.joules)},
  {key: 'device', screen: true, label: 'device', width: 130, once: true},
  {key: 'reason', screen: true, label: 'reason', width: 260, once: true},
  {key: 'record', label: 'record', width: 250}
];

/** The columns that say something of these rows, and what all of them have in common. */
export function laidOut(rows) {
  const common = [];
  const shown = columns.filter(({key, once}) => {
    if (!once || rows.length < 2 || rows.some(row => row[key] !== rows[0][key])) return true;
    if (rows[0][key]) common.push(rows[0][key]);
    return false;
  });
  return {shown, common};
}

/** Rows by a field; those that have nothing there come last either way. Stable. */
export function sorted(rows, {key, descending}) {
  const missing = value => value === null || value === undefined || Number.isNaN(value);
  const sign = descending ? -1 : 1;
  return rows.slice().sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (missing(x) || missing(y)) return missing(x) - missing(y) || a.id - b.id;
    if (x < y) return -sign;
    return x > y ? sign : a.id - b.id;
  });
}

const texts = new WeakMap();

function textOf(row) {
  let text = texts.get(row);
  if (text === undefined) {
    text = [row.name, row.tile_label, row.operator, row.direction, row.dtype, row.shape,
      row.gate, row.options_label, row.status, row.reason, row.check, row.device, row.file]
      .join(' ').toLowerCase();
    texts.set(row, text);
  }
  return text;
}

/** The rows that have all the words of a search somewhere in their texts. */
export function searched(rows, search) {
  const words = search.toLowerCase().split(/\s+/).filter(word => word);
  if (words.length === 0) return rows;
  return rows.filter(row => words.every(word => textOf(row).includes(word)));
}

/** Which rows of a list are in sight, with some around them. */
export function windowOf(scrollTop, height, count) {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + overscan);
  return [Math.min(first, count), Math.max(last, Math.min(first, count))];
}

export class Table {
  /** `open(row)`: its own panel; `sort(key)`: a heading was pressed; `search(text)`: typed. */
  constructor({open, sort, search, isDark}) {
    this.open_ = open;
    this.sort_ = sort;
    this.isDark_ = isDark;
    this.rows_ = [];
    this.shown_ = [];
    this.current_ = 0;
    this.input_ = element('input', {type: 'search', placeholder: 'Search in texts',
      'aria-label': 'Search the records', input: () => {
        clearTimeout(this.typing_);
        this.typing_ = setTimeout(() => search(this.input_.value), pause);
      }});
    this.count_ = element('p', {class: 'count', role: 'status'});
    this.cut_ = element('p', {class: 'also', hidden: true});
    this.widths_ = element('colgroup', {});
    this.head_ = element('tr', {});
    this.body_ = element('tbody', {});
    this.table_ = element('table', {class: 'records', 'aria-label': 'Records'}, this.widths_,
      element('thead', {}, this.head_), this.body_);
    this.scroller_ = element('div', {class: 'scroller', tabindex: '0', role: 'region',
      'aria-label': 'Records; arrow keys move, Enter opens one',
      keydown: event => this.key_(event)}, this.table_);
    this.scroller_.addEventListener('scroll', () => this.soon_(), {passive: true});
    this.node = element('div', {class: 'table'},
      element('div', {class: 'tools'}, this.input_, this.count_), this.scroller_, this.cut_);
  }

  width_(pixels) {
    const column = element('col', {});
    column.style.width = `${pixels}px`;
    return column;
  }

  heading_(column, sort) {
    const order = column.key !== sort.key ? 'none' : sort.descending ? 'descending' : 'ascending';
    return element('th', {scope: 'col', 'data-key': column.key, title: column.title,
      class: column.show ? 'number' : null, 'aria-sort': order},
    element('button', {type: 'button', click: () => {
      this.sort_(column.key);
      this.head_.querySelector(`[data-key="${column.key}"] button`).focus();
    }}, column.label));
  }

  update(rows, state) {
    const found = searched(rows, state.search);
    const {shown, common} = laidOut(found);
    this.rows_ = sorted(found, state.sort);
    this.current_ = 0;
    if (this.input_.value !== state.search) this.input_.value = state.search;
    this.count_.textContent = [formats.plural(found.length, 'record'), ...common].join(' \u00b7 ');
    this.table_.setAttribute('aria-rowcount', this.rows_.length + 1);
    this.onScreen_ = shown;
    this.order_ = state.sort;
    this.layOut_(shown);
    this.scroller_.scrollTop = 0;
    this.render_();
  }

  layOut_(shown) {
    this.shown_ = shown;
    fill(this.widths_, shown.map(column => this.width_(column.width)), this.width_(commandWidth));
    this.table_.style.width =
      `${shown.reduce((sum, column) => sum + column.width, commandWidth)}px`;
    fill(this.head_, shown.map(column => this.heading_(column, this.order_)),
      element('th', {scope: 'col'}, 'command'));
  }

  soon_() {
    if (this.waiting_) return;
    this.waiting_ = true;
    requestAnimationFrame(() => {
      this.waiting_ = false;
      this.render_();
    });
  }

  space_(rows) {
    if (rows <= 0) return null;
    const row = element('tr', {class: 'space', 'aria-hidden': 'true'},
      element('td', {colspan: this.shown_.length + 1}));
    row.style.height = `${rows * rowHeight}px`;
    return row;
  }

  render_() {
    const [first, last] = windowOf(this.scroller_.scrollTop, this.scroller_.clientHeight || 600,
      this.rows_.length);
    this.renderRange_(first, last);
  }

  renderRange_(first, last) {
    const lines = [];
    for (let at = first; at < last; ++at) lines.push(this.line_(at));
    fill(this.body_, this.space_(first), lines, this.space_(this.rows_.length - last));
    if (this.rows_.length === 0) {
      append(this.body_, [element('tr', {}, element('td', {colspan: this.shown_.length + 1,
        class: 'empty'}, 'No record fits.'))]);
    }
  }

  cell_(row, column) {
    const text = column.show ? column.show(row) : row[column.key];
    const node = element('td', {class: column.show ? 'number' : null});
    if (column.key === 'name') {
      node.append(swatch(row.variant, this.isDark_()));
    }
    if (column.key === 'status') node.className = `status-${row.status}`;
    node.append(text === null || text === undefined ? '' : String(text));
    if (!column.show && text) node.title = text;
    return node;
  }

  line_(at) {
    const row = this.rows_[at];
    const line = element('tr', {'aria-rowindex': at + 2,
      class: at === this.current_ ? 'current' : null, click: () => {
        this.current_ = at;
        this.open_(row);
      }}, this.shown_.map(column => this.cell_(row, column)));
    line.append(element('td', {}, row.command === null ? '' : copyButton(() => row.command)));
    return line;
  }

  key_(event) {
    if (event.target !== this.scroller_) return;
    const page = Math.max(1, Math.floor(this.scroller_.clientHeight / rowHeight) - 2);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
      Home: -this.rows_.length, End: this.rows_.length};
    if (event.key === 'Enter' && this.rows_[this.current_]) {
      event.preventDefault(); // or it presses the button that has the focus then
      this.open_(this.rows_[this.current_]);
    } else if (event.key in steps) {
      this.go_(this.current_ + steps[event.key]);
      event.preventDefault();
    }
  }

  go_(to) {
    this.current_ = Math.max(0, Math.min(this.rows_.length - 1, to));
    const [top, height] = [this.current_ * rowHeight, this.scroller_.clientHeight - 2 * rowHeight];
    if (top < this.scroller_.scrollTop) this.scroller_.scrollTop = top;
    else if (top > this.scroller_.scrollTop + height) this.scroller_.scrollTop = top - height;
    this.render_();
  }

  /** On paper there is no scrolling: the first rows of the present order. */
  forPrint(on) {
    this.layOut_(on ? this.onScreen_.filter(column => !column.screen) : this.onScreen_);
    if (on) this.renderRange_(0, Math.min(printed, this.rows_.length));
    else this.render_();
    const left = this.rows_.length - printed;
    this.cut_.hidden = !on || left <= 0;
    this.cut_.textContent = `${formats.count(left)} more are on the page, not on paper.`;
  }
}
