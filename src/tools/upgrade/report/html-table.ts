/** Builds the tables of report pages from text that may be hostile, and from cells that are already markup. */
import { escapeHtml } from "./html-text.ts";

/**
 * `rows` are markup. A table that is wider than the page scrolls by itself; on a narrow screen, "cards" shows each row as
 * a list.
 */
export function htmlTable(head: readonly string[], rows: readonly string[], kind: "plain" | "cards" = "plain"): string {
  const cells = head.map((name) => `<th scope="col">${escapeHtml(name)}</th>`);
  return `<div class="wide"><table class="${kind}"><thead><tr>${cells.join("")}</tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** `cells` are markup. */
export function htmlRow(name: string, cells: readonly string[]): string {
  return `<tr><th scope="row">${escapeHtml(name)}</th>${cells.join("")}</tr>`;
}

/** A cell that may wrap anywhere, because requests and messages can contain long words. */
export function longCell(text: string): string {
  return `<td class="long">${escapeHtml(text)}</td>`;
}

export function htmlCell(text: string): string {
  return `<td>${escapeHtml(text)}</td>`;
}

/** Adds the heading of its column to each cell, for screens on which the head of the table is not shown. */
export function labeledCells([, ...labels]: readonly string[], cells: readonly string[]): string[] {
  return cells.map((one, index) => one.replace("<td", `<td data-label="${escapeHtml(labels[index] ?? "")}"`));
}
