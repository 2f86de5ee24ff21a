// Figures in their frames: title, question, drawing, buttons that save it.

import {element, fill} from './dom.js';
import {show} from './figures/show.js';
import {saveFigure} from './save.js';

/**
 * One figure. It is drawn when it comes into sight, and again when what it shows or where it stands
 * has changed. A figure that fails says so in its frame and leaves the others alone.
 */
export class Card {
  constructor(figure, contextFor) {
    this.figure = figure;
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

  /** What it is to show; drawn at once only where it is in sight. */
  update(rows) {
    this.rows_ = rows;
    this.stale_ = true;
    this.node.hidden = false;
    if (this.visible_) this.draw();
  }

  come(visible) {
    this.visible_ = visible;
    if (visible && this.stale_) this.draw();
  }

  /** Again at its present width. */
  resize() {
    this.stale_ = true;
    if (this.visible_) this.draw();
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
