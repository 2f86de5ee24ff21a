// The figures in the order of the page, by section. Each is a module with id, title, question,
// model(rows, context) and draw(node, model, context); see page/cards.js.

export const sections = {
  wins: [],
  why: [],
  cost: [],
  peers: [],
  comparison: []
};
