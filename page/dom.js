// Elements out of text. Nothing here takes markup, so that nothing of a record can become any.

/**
 * An element with attributes and children. A function is a listener ("click": f); true is an
 * attribute without value; null, undefined and false are left out. Texts become text nodes.
 */
export function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child);
  }
  return node;
}

/** Puts children in the place of what a node holds. */
export function fill(node, ...children) {
  node.textContent = '';
  return append(node, children);
}

const svgNamespace = 'http://www.w3.org/2000/svg';

export function svgElement(tag, attributes) {
  const node = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
}
