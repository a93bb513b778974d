/**
 * A small metrics registry with the Prometheus text exposition. Callers look up each series once by its label values
 * and then update it by plain arithmetic, because each request updates about ten series.
 */
export interface Counter {
  inc(by?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(by: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

export interface MetricFamily<Series> {
  /** The series with these label values, in the order of the family's label names. */
  with(...labelValues: string[]): Series;
}

interface FamilyOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/**
 * Limit of series in a family. Above it, all new series are counted as one, because label values may come from
 * requests.
 */
const SERIES_MAX = 5_000;
const OVERFLOW = "other";

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  render(lines: string[]): void;
}

export class MetricsRegistry {
  readonly #families: Family[] = [];

  counter(options: FamilyOptions): MetricFamily<Counter> {
    return this.#family("counter", options, () => new Value());
  }

  gauge(options: FamilyOptions): MetricFamily<Gauge> {
    return this.#family("gauge", options, () => new Value());
  }

  histogram(options: FamilyOptions & { readonly buckets: readonly number[] }): MetricFamily<Histogram> {
    return this.#family("histogram", options, () => new Distribution(options.buckets));
  }

  /** A gauge whose value is computed at each scrape. */
  gaugeOf(options: FamilyOptions, read: () => number): void {
    this.#families.push({
      ...options,
      type: "gauge",
      render: (lines) => lines.push(`${options.name} ${formatNumber(read())}`),
    });
  }

  /** A gauge with labels, all series of which are computed at each scrape. */
  gaugesOf(
    options: FamilyOptions,
    read: () => Iterable<{ readonly labelValues: readonly string[]; readonly value: number }>,
  ): void {
    const labels = options.labels ?? [];
    const render = (lines: string[]): void => {
      for (const { labelValues, value } of read())
        lines.push(`${options.name}${braces(labelText(labels, labelValues))} ${formatNumber(value)}`);
    };
    this.#families.push({ ...options, type: "gauge", render });
  }

  render(): string {
    const lines: string[] = [];
    for (const family of [...this.#families].sort((left, right) => (left.name < right.name ? -1 : 1))) {
      lines.push(`# HELP ${family.name} ${family.help}`, `# TYPE ${family.name} ${family.type}`);
      family.render(lines);
    }
    return lines.join("\n") + "\n";
  }

  #family<Series extends Renderable>(
    type: Family["type"],
    options: FamilyOptions,
    create: () => Series,
  ): MetricFamily<Series> {
    const labels = options.labels ?? [];
    const series = new Map<string, { values: readonly string[]; series: Series }>();
    this.#families.push({
      ...options,
      type,
      render: (lines) => {
        for (const entry of series.values()) entry.series.render(lines, options.name, labelText(labels, entry.values));
      },
    });
    return {
      with: (...given) => {
        const key = given.join("\u0000");
        const found = series.get(key);
        if (found !== undefined) return found.series;
        const values = series.size < SERIES_MAX ? given : given.map(() => OVERFLOW);
        const overflowKey = values === given ? key : values.join("\u0000");
        const existing = series.get(overflowKey);
        if (existing !== undefined) return existing.series;
        const created = { values, series: create() };
        series.set(overflowKey, created);
        return created.series;
      },
    };
  }
}

interface Renderable {
  render(lines: string[], name: string, labels: string): void;
}

class Value implements Counter, Gauge, Renderable {
  #value = 0;

  inc(by = 1): void {
    this.#value += by;
  }

  set(value: number): void {
    this.#value = value;
  }

  add(by: number): void {
    this.#value += by;
  }

  render(lines: string[], name: string, labels: string): void {
    lines.push(`${name}${braces(labels)} ${formatNumber(this.#value)}`);
  }
}

class Distribution implements Histogram, Renderable {
  readonly #buckets: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.#counts = new Float64Array(buckets.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#buckets.length && value > this.#buckets[index]!) index++;
    this.#counts[index]! += 1;
    this.#sum += value;
  }

  render(lines: string[], name: string, labels: string): void {
    const prefix = labels === "" ? "" : `${labels},`;
    let cumulated = 0;
    this.#counts.forEach((count, index) => {
      cumulated += count;
      const bound = index < this.#buckets.length ? String(this.#buckets[index]) : "+Inf";
      lines.push(`${name}_bucket{${prefix}le="${bound}"} ${cumulated}`);
    });
    lines.push(
      `${name}_sum${braces(labels)} ${formatNumber(this.#sum)}`,
      `${name}_count${braces(labels)} ${cumulated}`,
    );
  }
}

function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeLabel(values[index] ?? "")}"`).join(",");
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function braces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

function formatNumber(value: number): string {
  return Number.isFinite(value) ? String(value) : Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
