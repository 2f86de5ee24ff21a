// node rows_of_page.cjs PAGE.html: the rows of a page as JSON, with NaN as "nan". `cells` are the
// numbers as the page's table shows them, `title` and `tile_label` what a report calls the row.

import {readFileSync} from 'node:fs';
import {decode, pairs, unpacked} from '../../page/rows.js';
import {columns} from '../../page/table.js';

/** As describe() of the program names a problem. */
function titleOf(row) {
  const parts = [row.operator, row.direction, row.dtype, row.layout, row.shape, `gate=${row.gate}`,
    `seed=${row.seed}`, pairs(row.options, ' '), row.initial_state ? 'initial_state' : ''];
  return parts.filter(part => part).join(' ');
}

function cellsOf(row) {
  const shown = columns.filter(column => column.show).map(({key, show}) => [key, show(row)]);
  return Object.fromEntries(shown);
}

const page = readFileSync(process.argv[2], 'utf8');
const start = '<script id="data" type="application/octet-stream">';
const at = page.indexOf(start) + start.length;
unpacked(page.slice(at, page.indexOf('</script>', at))).then(data => {
  const rows = decode(data);
  const plain = rows.map(row => Object.assign({}, row,
    {command: row.command, title: titleOf(row), cells: cellsOf(row)}));
  process.stdout.write(JSON.stringify(plain, (key, value) =>
    typeof value === 'number' && Number.isNaN(value) ? 'nan' : value));
});
