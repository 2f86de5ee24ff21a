// What a figure lets its reader choose: which problem, which variant, which page. Pure functions.

/**
 * A picker with the value that holds: the one chosen before, where it is still offered, else
 * `preferred`, else the first. `options`: [{value, label, group?}].
 */
export function picker(context, name, label, options, preferred) {
  const chosen = (context.chosen || {})[name];
  const known = value => options.some(option => option.value === value);
  const value = known(chosen) ? chosen
    : known(preferred)        ? preferred
    : options.length          ? options[0].value
                              : null;
  return {kind: 'pick', name, label, options, value};
}

/** Pages of `pages` of something, `what` of which are shown ("panels 1 to 6 of 31"). */
export function pager(page, pages, what) {
  return {kind: 'pages', name: 'page', label: what, page, pages};
}
