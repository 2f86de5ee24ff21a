// The bar of filters: for each facet what there is, how many records it would leave, and what is
// chosen.

import {element, fill} from './dom.js';
import {facets, offers} from './state.js';
import {count} from './formats.js';
import {swatch} from './swatch.js';

const searchable = 12; // values from which on a list has a field to narrow it

/** What a facet's button says. */
export function caption(facet, chosen) {
  if (chosen.length === 0) return 'all';
  return chosen.length === 1 ? String(chosen[0]) : `${chosen.length} chosen`;
}

export class Filters {
  /** `toggle(facet, value)`, `clear(facet)`, `reset()`: what the reader asked for. */
  constructor({toggle, clear, reset, isDark}) {
    this.toggle_ = toggle;
    this.clear_ = clear;
    this.isDark_ = isDark;
    this.facets_ = new Map();
    this.count_ = element('p', {class: 'count', role: 'status', id: 'left'});
    const nodes = facets.map(facet => this.facet_(facet));
    this.node = element('div', {class: 'filters', role: 'group', 'aria-label': 'Filters'}, nodes,
      element('div', {class: 'left'}, this.count_, element('button', {type: 'button',
        class: 'reset', click: reset}, 'All records')));
    document.addEventListener('click', event => this.close_(event.target));
    this.node.addEventListener('keydown', event => {
      if (event.key !== 'Escape') return;
      const open = this.node.querySelector('details[open]');
      if (!open) return;
      open.open = false;
      open.querySelector('summary').focus();
    });
  }

  close_(target) {
    for (const {node} of this.facets_.values()) {
      if (node.open && !node.contains(target)) node.open = false;
    }
  }

  facet_(facet) {
    const value = element('b', {});
    const list = element('ul', {});
    const narrow = element('input', {type: 'search', 'aria-label': `Narrow the list of ${facet}`,
      placeholder: 'Narrow', input: () => this.narrow_(facet)});
    const clear = element('button', {type: 'button', class: 'link',
      click: () => this.clear_(facet)}, `All of ${facet}`);
    const node = element('details', {class: 'facet', 'data-facet': facet},
      element('summary', {}, element('span', {}, facet), ' ', value),
      element('div', {class: 'choices'}, narrow, list, clear));
    node.addEventListener('toggle', () => {
      for (const other of this.facets_.values()) {
        if (node.open && other.node !== node) other.node.open = false;
      }
      if (node.open) this.fill_(facet);
    });
    this.facets_.set(facet, {node, value, list, narrow, clear});
    return node;
  }

  update(rows, state, left) {
    this.rows_ = rows;
    this.state_ = state;
    this.count_.textContent = `${count(left)} of ${count(rows.length)} records`;
    for (const [facet, {node, value}] of this.facets_) {
      const chosen = state.filters[facet];
      node.hidden = chosen.length === 0 && this.single_(facet);
      value.textContent = caption(facet, chosen);
      node.classList.toggle('chosen', chosen.length > 0);
      if (node.open) this.fill_(facet);
    }
  }

  /** Where all records have the same there is nothing to choose. */
  single_(facet) {
    return this.rows_.length > 0 && this.rows_.every(row => row[facet] === this.rows_[0][facet]);
  }

  /** The list is made when it is opened: with thousands of shapes nobody wants to wait for it. */
  fill_(facet) {
    const {list, narrow, clear} = this.facets_.get(facet);
    const focused = document.activeElement && list.contains(document.activeElement)
      ? document.activeElement.getAttribute('data-value') : null;
    const chosen = new Set(this.state_.filters[facet]);
    const values = offers(this.rows_, this.state_.filters, facet);
    narrow.hidden = values.length < searchable;
    clear.hidden = chosen.size === 0;
    fill(list, values.map(offer => this.choice_(facet, offer, chosen.has(offer.value))));
    this.narrow_(facet);
    for (const box of list.querySelectorAll('input')) {
      if (focused !== null && box.getAttribute('data-value') === focused) box.focus();
    }
  }

  choice_(facet, offer, chosen) {
    const box = element('input', {type: 'checkbox', 'data-value': offer.value,
      change: () => this.toggle_(facet, offer.value)});
    box.checked = chosen;
    const mark = facet === 'variant' && swatch(offer.value, this.isDark_());
    return element('li', {}, element('label', {class: offer.count === 0 ? 'absent' : null}, box,
      mark, element('span', {class: 'value'}, offer.value === '' ? '(none)' : offer.value),
      element('span', {class: 'number'}, count(offer.count))));
  }

  narrow_(facet) {
    const {list, narrow} = this.facets_.get(facet);
    const words = narrow.value.toLowerCase().split(/\s+/);
    for (const item of list.children) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every(word => text.includes(word));
    }
  }
}
