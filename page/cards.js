// Figures in their frames: title, question, drawing, buttons that save it.

import {element, fill} from './dom.js';
import {show} from './figures/show.js';
import {saveFigure} from './save.js';

/** Draws what waits, a card a frame: what the reader does is not held up by thousands of marks. */
export class Drawer {
  constructor() {
    this.waiting_ = new Set();
  }

  soon(card) {
    if (this.waiting_.size === 0) requestAnimationFrame(() => this.next_());
    this.waiting_.add(card);
  }

  next_() {
    const [card] = this.waiting_;
    if (card.needsDrawing()) card.draw();
    this.waiting_.delete(card);
    if (this.waiting_.size > 0) requestAnimationFrame(() => this.next_());
  }
}

/**
 * One figure. It is drawn when it comes into sight, and again when what it shows or where it stands
 * has changed. A figure that fails says so in its frame and leaves the others alone.
 */
export class Card {
  constructor(figure, drawer, contextFor) {
    this.figure = figure;
    this.drawer_ = drawer;
    this.contextFor_ = contextFor;
    this.rows_ = [];
    this.stale_ = true;
    this.visible_ = false;
    this.drawing = element('div', {class: 'drawing'});
    this.buttons_ = element('div', {class: 'save'}, this.button_('svg'), this.button_('png'));
    this.node = element('figure', {class: 'card', id: `figure-${figure.id}`},
      element('figcaption', {},
        element('div', {}, element('h3', {}, figure.title),
          element('p', {class: 'question'}, figure.question)), this.buttons_), this.drawing);
  }

  button_(kind) {
    return element('button', {type: 'button', 'data-save': kind,
      title: `Save this figure as ${kind.toUpperCase()}`,
      click: () => this.save(kind)}, kind.toUpperCase());
  }

  save(kind) {
    const svg = this.drawing.querySelector('svg');
    const ground = getComputedStyle(this.node).backgroundColor;
    if (svg) return saveFigure(svg, `gla-bench-${this.figure.id}`, kind, ground);
    return Promise.resolve();
  }

  needsDrawing() {
    return this.stale_ && this.visible_;
  }

  /** What it is to show; drawn soon where it is in sight. */
  update(rows) {
    this.rows_ = rows;
    this.node.hidden = false;
    this.again();
  }

  come(visible) {
    this.visible_ = visible;
    if (this.needsDrawing()) this.drawer_.soon(this);
  }

  /** At its present width, in the present colours. */
  again() {
    this.stale_ = true;
    if (this.needsDrawing()) this.drawer_.soon(this);
  }

  draw() {
    this.stale_ = false;
    const context = this.contextFor_(this.drawing, this.figure);
    try {
      const shown = show(this.figure, this.drawing, this.rows_, context);
      this.node.hidden = Boolean(this.figure.optional && shown.empty);
    } catch (error) {
      fill(this.drawing, element('p', {class: 'empty', role: 'alert'},
        `This figure failed: ${error.message}`));
      window.console.error(error);
    }
    const svg = this.drawing.querySelector('svg');
    this.buttons_.hidden = !svg;
    if (svg) {
      svg.setAttribute('role', svg.getAttribute('role') || 'group');
      svg.setAttribute('aria-label', `${this.figure.title}. ${this.figure.question}`);
    }
  }
}

/** Tells cards when they come into sight, a screen ahead. */
export function watch(cards) {
  const byNode = new Map(cards.map(card => [card.node, card]));
  const observer = new IntersectionObserver(entries => {
    for (const entry of entries) byNode.get(entry.target).come(entry.isIntersecting);
  }, {rootMargin: '600px 0px'});
  for (const card of cards) observer.observe(card.node);
}
