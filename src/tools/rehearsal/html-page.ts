/**
 * Style and script of the report page, which also has the BASE_STYLE of all report pages. The script adds a search field
 * that filters long tables.
 */
export const REHEARSAL_STYLE = `
:root { --ok: #7fa8c9; --notFound: #d9b44a; --unavailable: #b07cc6; --other: #9aa5af; --step: #5b687566; }
pre { background: var(--band); padding: .6rem .9rem; border-radius: 3px; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
p.long { overflow-wrap: anywhere; }
dl.kinds { display: block; } dl.kinds div { margin: .4rem 0; } dl.kinds dt { color: inherit; font-weight: 600; display: inline; }
dl.kinds dd { display: inline; margin: 0; font-weight: 400; } dl.kinds dt::after { content: ": "; }
svg { display: block; width: 100%; height: auto; } svg text { font: 10px system-ui, sans-serif; fill: var(--soft); }
svg text.in { fill: #10161c; } .band { fill: var(--band); } .band.odd { fill: var(--band2); } .step { fill: var(--step); } .axis { stroke: var(--line); }
.bar.ok { fill: var(--ok); } .bar.notFound { fill: var(--notFound); } .bar.unavailable { fill: var(--unavailable); } .bar.other { fill: var(--other); }
.mark { fill: var(--wrong); } .lane.v0 { fill: #8fb7d6; } .lane.v1 { fill: #8fc7a3; } .lane.v2 { fill: #d9c27f; } .lane.v3 { fill: #c9a3d6; }
.lane.none { fill: #b9c0c7; stroke: var(--wrong); stroke-dasharray: 4 3; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; margin: .5rem 0; font-size: .9rem; }
.swatch { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px; }
.swatch.ok { background: var(--ok); } .swatch.notFound { background: var(--notFound); } .swatch.unavailable { background: var(--unavailable); }
.swatch.other { background: var(--other); } .swatch.wrong { background: var(--wrong); } .swatch.step { background: var(--step); }
input { font: inherit; margin: .5rem 0; padding: .2rem .5rem; width: 20rem; max-width: 100%; }
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
