// A figure in its frame: what its reader may choose, its drawing, and a note below.

import {element, fill} from '../dom.js';

const kept = new WeakMap();

/** Where choices are: in the page's address, or, without one, with the frame. */
function choicesOf(figure, frame, context) {
  if (context.choice) {
    return {
      get: name => context.choice(figure.id, name),
      set: values => context.choose(figure.id, values)
    };
  }
  if (!kept.has(frame)) kept.set(frame, {});
  return {
    get: name => kept.get(frame)[name],
    set: values => Object.assign(kept.get(frame), values)
  };
}

function optionOf(option, value) {
  return element('option', {value: option.value, selected: option.value === value}, option.label);
}

function pickerElement(choice, change) {
  const groups = new Map();
  const children = [];
  for (const option of choice.options) {
    if (option.group && !groups.has(option.group)) {
      groups.set(option.group, element('optgroup', {label: option.group}));
      children.push(groups.get(option.group));
    }
    const one = optionOf(option, choice.value);
    if (option.group) {
      groups.get(option.group).append(one);
    } else {
      children.push(one);
    }
  }
  const select = element('select',
    {'data-pick': choice.name, change: event => change(choice.name, event.target.value)}, children);
  return element('label', {class: 'pick'}, choice.label, ' ', select);
}

function pagerElement(choice, change) {
  const button = (text, name, page) => element('button', {
    type: 'button',
    'data-pick': name,
    'aria-label': name,
    disabled: page < 0 || page >= choice.pages,
    click: () => change('page', String(page))
  },
    text);
  return element('span', {class: 'pick'}, choice.label, choice.pages > 1 && [
    button('\u2039', 'previous page', choice.page - 1), `${choice.page + 1} of ${choice.pages}`,
    button('\u203a', 'next page', choice.page + 1)
  ]);
}

function pickersOf(shown, change) {
  const list =
    (shown.choices || []).filter(choice => choice.kind === 'pages' || choice.options.length > 1);
  return element('div', {class: 'picks'},
    list.map(choice => choice.kind === 'pages' ? pagerElement(choice, change)
                                               : pickerElement(choice, change)));
}

/** The keyboard's focus stays on the picker that was used, though it is made anew. */
function keepingFocus(frame, redraw) {
  const active = document.activeElement;
  const name = frame.contains(active) ? active.getAttribute('data-pick') : null;
  redraw();
  if (!name) return;
  const again = Array.from(frame.querySelectorAll('[data-pick]'))
                  .filter(one => !one.disabled)
                  .find(one => one.getAttribute('data-pick') === name);
  if (again) again.focus();
}

/**
 * Puts a figure of these rows into `frame`, in the place of what is there: its pickers, its svg and
 * a note, or a sentence that says why there is nothing to show. What is chosen is kept by
 * context.choice(figure, name) and context.choose(figure, {name: value}), or else with the frame.
 * Returns the model.
 */
export function show(figure, frame, rows, context) {
  const choices = choicesOf(figure, frame, context);
  const chosen = new Proxy({}, {get: (none, name) => choices.get(name)});
  const within = Object.assign({}, context, {chosen});
  const shown = figure.model(rows, within);
  if (shown.empty) {
    fill(frame, element('p', {class: 'empty'}, shown.empty));
    return shown;
  }
  const change = (name, value) => {
    // Another order or problem has other pages.
    choices.set(name === 'page' ? {page: value} : {page: '', [name]: value});
    show(figure, frame, rows, context);
  };
  keepingFocus(frame, () => {
    fill(frame, pickersOf(shown, change));
    figure.draw(frame, shown, within);
    if (shown.note) frame.append(element('p', {class: 'figure-note'}, shown.note));
  });
  return shown;
}
