// One record with all that is known of it, and the command that repeats it.

import {element, fill} from './dom.js';
import {fullLines} from './describe.js';
import {copyText} from './save.js';
import {swatch} from './swatch.js';

/** A button that puts a text on the clipboard and says that it did. */
export function copyButton(text, label = 'Copy') {
  const button = element('button', {type: 'button', class: 'copy', title: 'Copy the command',
    click: event => {
      event.stopPropagation();
      copyText(text()).then(done => {
        button.textContent = done ? 'Copied' : 'Not copied';
        setTimeout(() => { button.textContent = label; }, 1500);
      });
    }}, label);
  return button;
}

export class Panel {
  constructor(isDark) {
    this.isDark_ = isDark;
    this.body_ = element('div', {class: 'panel-body'});
    this.title_ = element('h2', {id: 'panel-title'});
    this.node_ = element('dialog', {class: 'panel', 'aria-labelledby': 'panel-title',
      click: event => {
        if (event.target === this.node_) this.node_.close();
      }},
    element('div', {class: 'panel-head'}, this.title_,
      element('button', {type: 'button', class: 'close', 'aria-label': 'Close',
        click: () => this.node_.close()}, '\u00d7')),
    this.body_);
    document.body.append(this.node_);
  }

  open(row) {
    fill(this.title_, swatch(row.variant, this.isDark_(), 16), row.variant);
    fill(this.body_, fullLines(row).map(([heading, lines]) =>
      element('section', {}, element('h3', {}, heading), element('dl', {},
        lines.map(([label, value]) =>
          [element('dt', {}, label), element('dd', {}, String(value))])))),
    row.command && element('section', {class: 'command'}, element('h3', {}, 'Repeat it'),
      element('pre', {tabindex: '0'}, row.command), copyButton(() => row.command)));
    if (!this.node_.open) this.node_.showModal();
    this.body_.scrollTop = 0;
  }
}
