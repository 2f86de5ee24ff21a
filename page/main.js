// The page: data -> rows, the address's fragment -> what is shown of them.

import {symbols} from 'd3';
import {Card, Drawer, watch} from './cards.js';
import {colourOf, dashOf, symbolOf} from './colours.js';
import {append, element, fill} from './dom.js';
import {sections as figures} from './figures/index.js';
import {Filters} from './filters.js';
import * as formats from './formats.js';
import {Hover} from './hover.js';
import {byDevice, machineSection} from './machine.js';
import {Panel} from './panel.js';
import {decode, unpacked} from './rows.js';
import {everything, filtered, firstState, fromFragment, picked, refiltered, toFragment, toggled}
  from './state.js';
import {Table} from './table.js';
import {verifiedSection} from './verified.js';
import {winnersSection} from './winners.js';

const darkScheme = window.matchMedia('(prefers-color-scheme: dark)');
const figureHeight = 380;
const paperWidth = 680; // pixels that fit on A4 and Letter as they are, so that texts stay legible

class Page {
  constructor(root, document_) {
    this.data_ = document_;
    this.rows_ = decode(document_);
    this.first_ = firstState(this.rows_);
    // Asked once: asking between a change and its event swallows the event.
    this.systemIsDark_ = darkScheme.matches;
    this.state_ = fromFragment(window.location.hash, this.first_);
    this.applyTheme_();
    const isDark = () => this.dark();
    this.panel_ = new Panel(isDark);
    this.open_ = row => this.panel_.open(row);
    this.hover_ = new Hover(this.open_, isDark);
    this.filters_ = new Filters({
      isDark,
      toggle: (facet, value) => this.step_(toggled(this.state_, facet, value)),
      clear: facet => this.setFilters_({[facet]: []}),
      reset: () => this.setFilters_(everything().filters)
    });
    this.table_ = new Table({
      isDark, open: this.open_,
      sort: key => this.go(Object.assign({}, this.state_, {sort: {key,
        descending: this.state_.sort.key === key && !this.state_.sort.descending}}), ['table']),
      search: search => this.go(Object.assign({}, this.state_, {search}), ['table'])
    });
    this.cards_ = [];
    this.drawer_ = new Drawer();
    this.build_(root);
    const devices = Array.from(byDevice(document_.files).keys()).join(', ');
    document.title = `gla-bench report${devices ? `: ${devices}` : ''}`;
    this.listen_();
    this.update_();
    this.toView_();
  }

  dark() {
    if (this.onPaper_) return false;
    return this.state_.theme ? this.state_.theme === 'dark' : this.systemIsDark_;
  }

  applyTheme_() {
    document.documentElement.setAttribute('data-theme', this.dark() ? 'dark' : 'light');
  }

  setFilters_(filters) {
    this.step_(refiltered(this.state_, filters));
  }

  /** A row's problem alone. */
  choose_(row) {
    this.setFilters_({operator: [row.operator], direction: [row.direction], dtype: [row.dtype],
      shape: [row.shape], gate: [row.gate]});
  }

  /** Other filters: a step that the browser's back button undoes (as "hashchange"). */
  step_(state) {
    window.history.pushState(null, '', window.location.hash);
    this.go(state);
  }

  /** Another state: into the address, and what it touches is drawn again. */
  go(state, parts) {
    this.state_ = state;
    window.history.replaceState(null, '', `#${toFragment(state)}`);
    this.update_(parts);
  }

  context_(node) {
    const dark = this.dark();
    return {
      dark, formats,
      width: this.onPaper_ ? paperWidth : this.widthOf_(node),
      height: figureHeight,
      colour: variant => colourOf(variant, dark),
      symbol: variant => symbols[symbolOf(variant)],
      dash: dashOf,
      hover: (selection, describe) => this.hover_.register(selection, describe),
      select: row => this.open_(row),
      only: row => this.choose_(row),
      choice: (figure, name) => this.state_.picks[`${figure}.${name}`],
      choose: (figure, values) => this.go(picked(this.state_, figure, values), []),
      comparison: this.data_.comparison,
      all: this.rows_
    };
  }

  /** All cards are as wide; asking each between drawings would lay the page out each time. */
  widthOf_(node) {
    if (!this.width_) {
      this.width_ = Math.max(280, Math.floor(node.getBoundingClientRect().width));
    }
    return this.width_;
  }

  section_(id, title, question, ...children) {
    const cards = (figures[id] || []).map(figure =>
      new Card(figure, this.drawer_, node => this.context_(node)));
    this.cards_.push(...cards);
    return element('section', {id: `section-${id}`, 'data-view': id, 'aria-labelledby':
      `title-${id}`},
    element('header', {}, element('h2', {id: `title-${id}`}, title),
      element('p', {class: 'question'}, question)), children,
    cards.length > 0 && element('div', {class: 'cards'}, cards.map(card => card.node)));
  }

  build_(root) {
    this.winners_ = element('div', {});
    this.theme_ = element('button', {type: 'button', class: 'theme', click: () => this.go(
      Object.assign({}, this.state_, {theme: this.dark() ? 'light' : 'dark'}))});
    const parts = [
      ['machine', 'Machine', 'What was measured, and on what?', machineSection(this.data_.files)],
      ['verified', 'Verified', 'Is every result right?',
        verifiedSection(this.data_.files, this.rows_, this.open_)],
      ['wins', 'Winners', 'Which variant wins where, and by how much?', this.winners_],
      ['why', 'Why', 'What bounds it: memory, tensor cores, or latency?'],
      ['cost', 'Costs', 'What does it take: bytes, workspace, error, energy?'],
      ['peers', 'Peers and floor', 'How far from the peers, and from what is possible?'],
      ['table', 'Records', 'Every record, with the command that repeats it.', this.table_.node],
      ['comparison', 'Comparison', 'What changed between two runs?']
    ].filter(([id]) => id !== 'comparison' || this.data_.comparison)
      .filter(([id, , , child]) => child || (figures[id] || []).length > 0);
    this.nav_ = element('nav', {'aria-label': 'Sections'}, parts.map(([id, title]) =>
      element('button', {type: 'button', 'data-view': id, click: () => {
        this.go(Object.assign({}, this.state_, {view: id}), []);
        this.toView_();
      }}, title)));
    const main = element('main', {}, parts.map(part => this.section_(...part)));
    const top = element('header', {class: 'top'},
      element('div', {class: 'bar'}, element('h1', {}, 'gla-bench report'), this.nav_, this.theme_),
      this.filters_.node);
    append(root, [top, main, element('footer', {}, `Made by gla-bench ${this.data_.program}. ` +
      'Figures with d3 5.16, \u00a9 Mike Bostock, BSD 3-Clause licence.')]);
    this.keepClear_(top);
    watch(this.cards_);
    this.holdTarget_(main);
  }

  listen_() {
    window.addEventListener('hashchange', () => {
      this.state_ = fromFragment(window.location.hash, this.first_);
      this.update_();
      this.toView_();
    });
    darkScheme.addEventListener('change', event => {
      this.systemIsDark_ = event.matches;
      this.update_();
    });
    let width = window.innerWidth;
    let timer = 0;
    window.addEventListener('resize', () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      clearTimeout(timer);
      timer = setTimeout(() => {
        this.width_ = 0;
        this.cards_.forEach(card => card.again());
      }, 150);
    });
    window.addEventListener('beforeprint', () => this.forPrint_(true));
    window.addEventListener('afterprint', () => this.forPrint_(false));
  }

  forPrint_(on) {
    this.onPaper_ = on;
    this.applyTheme_();
    this.showWinners_(filtered(this.rows_, this.state_.filters));
    this.table_.forPrint(on);
    for (const card of this.cards_) {
      if (on) card.draw();
      else card.again();
    }
  }

  /** All, or only the parts that are named. */
  update_(parts) {
    const left = filtered(this.rows_, this.state_.filters);
    if (!parts || parts.includes('table')) this.table_.update(left, this.state_);
    if (parts) return;
    this.applyTheme_();
    this.theme_.textContent = this.dark() ? 'Light' : 'Dark';
    this.filters_.update(this.rows_, this.state_, left.length);
    this.showWinners_(left);
    for (const card of this.cards_) card.update(left);
  }

  showWinners_(rows) {
    fill(this.winners_, winnersSection(rows, {
      dark: this.dark(), open: this.open_, choose: row => this.choose_(row)
    }));
  }

  toView_() {
    for (const button of this.nav_.children) {
      const active = button.getAttribute('data-view') === this.state_.view;
      if (active) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    }
    this.target_ = document.getElementById(`section-${this.state_.view}`);
    if (this.target_) this.target_.scrollIntoView({block: 'start'});
  }

  /** What is scrolled to stands below the bar, however many lines that has. */
  keepClear_(top) {
    new ResizeObserver(() => {
      const height = getComputedStyle(top).position === 'sticky' ? top.offsetHeight : 0;
      document.documentElement.style.scrollPaddingTop = `${height}px`;
    }).observe(top);
  }

  /** Figures on the way to a section take their room when they are drawn: back to it, then. */
  holdTarget_(main) {
    new ResizeObserver(() => {
      if (this.target_) this.target_.scrollIntoView({block: 'start'});
    }).observe(main);
    for (const own of ['wheel', 'touchmove', 'pointerdown', 'keydown']) {
      window.addEventListener(own, () => { this.target_ = null; }, {passive: true});
    }
  }
}

async function start() {
  const root = document.getElementById('page');
  try {
    const data = await unpacked(document.getElementById('data').textContent);
    return new Page(root, data);
  } catch (error) {
    fill(root, element('p', {class: 'broken', role: 'alert'},
      `This page cannot show its data: ${error.message}`));
    throw error;
  }
}

start();
