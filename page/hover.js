// What a mark of a figure says when the pointer is over it, or the keyboard's focus on it.

import {element, fill} from './dom.js';
import {shortLines} from './describe.js';
import {swatch} from './swatch.js';

const margin = 14;

/** A row as {title, lines, row}; a figure may say it in its own words. */
function asNote(described) {
  if (!described) return null;
  if (described.lines) return described;
  return {title: described.variant, lines: shortLines(described), row: described};
}

/** Keeps a box of this size beside a point and inside the window. Pure, for its test. */
export function place(x, y, box, screen) {
  const right = x + margin + box.width;
  const left = right <= screen.width ? x + margin : x - margin - box.width;
  const below = y + margin + box.height;
  const top = below <= screen.height ? y + margin : y - margin - box.height;
  const inside = (value, most) => Math.max(4, Math.min(value, most - 4));
  return {left: inside(left, screen.width - box.width),
    top: inside(top, screen.height - box.height)};
}

/** The one note of a page. `open(row)` is called for a mark that is clicked or entered. */
export class Hover {
  constructor(open, isDark) {
    this.open_ = open;
    this.isDark_ = isDark;
    this.node_ = element('div', {class: 'note', role: 'tooltip', id: 'note', hidden: true});
    document.body.append(this.node_);
    window.addEventListener('scroll', () => this.hide(), {passive: true});
    document.addEventListener('keydown', event => {
      if (event.key === 'Escape') this.hide();
    });
  }

  /**
   * Makes the marks of a d3 selection tell what they are: `describe(datum)` gives a row, or
   * {title, lines: [[label, value]], row}, or null for a mark without anything to say.
   */
  register(selection, describe) {
    selection.each(function(datum) {
      this.classList.add('mark');
      this.tellsOf = () => describe(datum);
    });
    const svg = selection.empty() ? null : selection.node().ownerSVGElement;
    if (!svg || svg.hasAttribute('data-tells')) return;
    svg.setAttribute('data-tells', '');
    this.pointed_(svg);
    this.walkable_(svg);
  }

  /** Listeners of the whole drawing: a figure may have thousands of marks. */
  pointed_(svg) {
    const markOf = event => event.target.closest('.mark');
    svg.addEventListener('pointermove', event => {
      const mark = markOf(event);
      if (mark) this.show(mark.tellsOf(), event.clientX, event.clientY);
      else this.hide();
    });
    svg.addEventListener('pointerleave', () => this.hide());
    svg.addEventListener('click', event => {
      const mark = markOf(event);
      if (mark) this.enter(mark.tellsOf());
    });
  }

  enter(described) {
    const note = asNote(described);
    if (note && note.row) this.open_(note.row);
  }

  show(described, x, y) {
    const note = asNote(described);
    if (!note) {
      this.hide();
      return;
    }
    fill(this.node_, this.title_(note),
      element('dl', {}, note.lines.map(([label, value]) =>
        [element('dt', {}, label), element('dd', {}, String(value))])));
    this.node_.hidden = false;
    const at = place(x, y, this.node_.getBoundingClientRect(),
      {width: document.documentElement.clientWidth, height: window.innerHeight});
    this.node_.style.left = `${at.left}px`;
    this.node_.style.top = `${at.top}px`;
  }

  hide() {
    this.node_.hidden = true;
  }

  title_(note) {
    const title = element('p', {class: 'note-title'});
    if (note.row) {
      title.append(swatch(note.row.variant, this.isDark_()));
    }
    title.append(String(note.title));
    return title;
  }

  /** One stop of the tab key for a figure; arrows go from mark to mark, Enter opens one. */
  walkable_(svg) {
    svg.setAttribute('tabindex', '0');
    let current = -1;
    const go = to => {
      const marks = Array.from(svg.querySelectorAll('.mark'));
      if (marks.length === 0) return;
      for (const mark of marks) mark.classList.remove('focused');
      current = (to + marks.length) % marks.length;
      const mark = marks[current];
      mark.classList.add('focused');
      const box = mark.getBoundingClientRect();
      this.show(mark.tellsOf(), box.right, box.top + box.height / 2);
    };
    svg.addEventListener('keydown', event => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (step !== undefined) {
        go(current < 0 && step < 0 ? -1 : current + step);
        event.preventDefault();
      } else if (event.key === 'Enter' && current >= 0) {
        event.preventDefault(); // as in table.js
        const marks = svg.querySelectorAll('.mark');
        if (marks[current]) this.enter(marks[current].tellsOf());
      }
    });
    svg.addEventListener('blur', () => {
      for (const mark of svg.querySelectorAll('.mark.focused')) mark.classList.remove('focused');
      current = -1;
      this.hide();
    });
  }
}
