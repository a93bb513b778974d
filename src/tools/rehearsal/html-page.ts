/**
 * Style and script of the report page, which also has the BASE_STYLE of all report pages. The script adds a search field
 * that filters long tables.
 */
export const REHEARSAL_STYLE = `
:root { --ok: #7fa8c9; --notFound: #d9b44a; --unavailable: #b07cc6; --other: #9aa5af; --step: #5b687566; }
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
