/** A column of a kind's table, as the catalogue describes it for a release. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** "" when the column has none. */
  readonly format: string;
  readonly priority: number;
  /** What the cell shows, where that is a plain field or the age of one; undefined where it takes code. */
  readonly cell: { readonly path: string; readonly as: "text" | "age" } | undefined;
}
