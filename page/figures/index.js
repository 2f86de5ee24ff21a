// The figures in the order of the page, by section. Each is a module with id, title, question,
// model(rows, context) and draw(node, model, context); see page/README.md.

import * as bytes from './bytes.js';
import * as comparison from './comparison.js';
import * as crossover from './crossover.js';
import * as error from './error.js';
import * as headroom from './headroom.js';
import * as operators from './operators.js';
import * as pareto from './pareto.js';
import * as peers from './peers.js';
import * as predicted from './predicted.js';
import * as roofline from './roofline.js';
import * as stages from './stages.js';
import * as tally from './tally.js';
import * as tiles from './tiles.js';
import * as time from './time.js';
import * as wins from './wins.js';

export const sections = {
  wins: [tally, wins, time, operators, crossover],
  why: [roofline, bytes, stages, tiles],
  cost: [pareto, error, predicted],
  peers: [peers, headroom],
  comparison: [comparison]
};
