/** Style and script of the report page. The script adds a search field that filters long tables. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #1b2530; --soft: #5b6875; --line: #d5dbe1; --paper: #fff; --band: #f1f4f7; --band2: #e6ebf0;
  --ok: #7fa8c9; --notFound: #d9b44a; --unavailable: #b07cc6; --other: #9aa5af; --wrong: #c62f2f; --step: #5b687566; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9fabb6; --line: #3a444e; --paper: #14191f; --band: #1b222a; --band2: #232c35; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 0; }
.verdict { padding: .6rem .9rem; border-left: 5px solid; border-radius: 3px; background: var(--band); font-weight: 600; }
.verdict.pass { border-color: #2f8f4e; } .verdict.fail { border-color: var(--wrong); }
pre { background: var(--band); padding: .6rem .9rem; border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
dl { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: .75rem 0; } dt { color: var(--soft); } dd { margin: 0 0 0 -1rem; font-weight: 600; }
dl.kinds { display: block; } dl.kinds div { margin: .4rem 0; } dl.kinds dt { color: inherit; font-weight: 600; display: inline; }
dl.kinds dd { display: inline; margin: 0; font-weight: 400; } dl.kinds dt::after { content: ": "; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
p.long { overflow-wrap: anywhere; } td.long { overflow-wrap: anywhere; min-width: 9rem; }
thead th { color: var(--soft); font-weight: 500; } tbody th { font-weight: 500; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; } svg text { font: 10px system-ui, sans-serif; fill: var(--soft); }
svg text.in { fill: #10161c; } .band { fill: var(--band); } .band.odd { fill: var(--band2); } .step { fill: var(--step); } .axis { stroke: var(--line); }
.bar.ok { fill: var(--ok); } .bar.notFound { fill: var(--notFound); } .bar.unavailable { fill: var(--unavailable); } .bar.other { fill: var(--other); }
.mark { fill: var(--wrong); } .lane.v0 { fill: #8fb7d6; } .lane.v1 { fill: #8fc7a3; } .lane.v2 { fill: #d9c27f; } .lane.v3 { fill: #c9a3d6; }
.lane.none { fill: #b9c0c7; stroke: var(--wrong); stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .5rem 0; font-size: .9rem; }
.swatch { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px; }
.swatch.ok { background: var(--ok); } .swatch.notFound { background: var(--notFound); } .swatch.unavailable { background: var(--unavailable); }
.swatch.other { background: var(--other); } .swatch.wrong { background: var(--wrong); } .swatch.step { background: var(--step); }
summary { cursor: pointer; font-weight: 600; } input { font: inherit; margin: .5rem 0; padding: .2rem .5rem; width: 20rem; max-width: 100%; }
@media (max-width: 640px) {
  main { padding: 1rem; } .chart svg { min-width: 44rem; } svg text { font-size: 13px; }
  tbody th { white-space: normal; overflow-wrap: anywhere; }
  table.cards, table.cards tbody { display: block; } table.cards thead { display: none; }
  table.cards tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); } table.cards tr[hidden] { display: none; }
  table.cards th, table.cards td { display: block; border: 0; padding: .1rem 0; white-space: normal; overflow-wrap: anywhere; }
  table.cards td.number { text-align: left; }
  table.cards td::before { content: attr(data-label) ": "; color: var(--soft); }
}
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --band: #f1f4f7; --band2: #e6ebf0; }
  body { font-size: 10pt; print-color-adjust: exact; } main { max-width: none; padding: 0; } input { display: none; }
  .wide { overflow: visible; } table { font-size: 8pt; } tbody th { white-space: normal; }
  svg, tr, pre { break-inside: avoid; } h2, h3 { break-after: avoid; }
}
`;

export const PAGE_SCRIPT = `
for (const details of document.querySelectorAll("details.wrong")) {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Show only rows with …";
  field.setAttribute("aria-label", field.placeholder);
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of details.querySelectorAll("tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  details.querySelector("summary").after(field);
}
`;
