/**
 * Reads the pages of a bbolt database. Pages that are near each other in the file are read at once, because one system
 * call per page would take as long as hashing the file.
 */
import type { BoltMeta } from "./bolt-meta.ts";
import { damaged } from "./damaged.ts";
import { OVERFLOWING_PAGE_BYTES_MAX, WINDOW_BYTES } from "./etcd-file-limits.ts";
import type { RawFile } from "./raw-file.ts";

/** A page with its overflow pages, as a part of a buffer. */
export interface PageView {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Position of the page in the file. */
  readonly position: number;
}

export class PageReader {
  readonly pageSize: number;
  readonly pageCount: number;
  readonly #file: RawFile;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #windowStart = 0;
  #windowEnd = 0;
  #large = Buffer.alloc(0);

  constructor(file: RawFile, { pageSize, pageCount }: BoltMeta) {
    this.#file = file;
    this.pageSize = pageSize;
    this.pageCount = pageCount;
  }

  /** The number of pages that fit into one read. */
  get windowPages(): number {
    return WINDOW_BYTES / this.pageSize;
  }

  /** Whether a page has been read with an earlier page. */
  isNear(page: number): boolean {
    return page >= this.#windowStart && page < this.#windowEnd;
  }

  /** Reads pages that will be needed soon. */
  readNear(firstPage: number, lastPage: number): void {
    this.#requirePage(firstPage);
    const end = Math.min(lastPage + 1, this.pageCount, firstPage + this.windowPages);
    this.#file.read(this.#window, (end - firstPage) * this.pageSize, firstPage * this.pageSize);
    this.#windowStart = firstPage;
    this.#windowEnd = end;
  }

  /** Valid until the next page is read. */
  read(page: number): PageView {
    if (!this.isNear(page)) this.readNear(page, page);
    const start = (page - this.#windowStart) * this.pageSize;
    const pages = 1 + this.#window.readUInt32LE(start + 12);
    if (this.#window.readUInt32LE(start) !== page % 2 ** 32)
      throw damaged(`page ${page} has the number of another page`);
    const length = pages * this.pageSize;
    const position = page * this.pageSize;
    if (length === this.pageSize || page + pages <= this.#windowEnd) {
      return { bytes: this.#window, start, end: start + length, position };
    }
    if (page + pages > this.pageCount) throw damaged(`page ${page} extends beyond the end of the file`);
    if (length > OVERFLOWING_PAGE_BYTES_MAX) throw damaged(`page ${page} has ${length} bytes`);
    if (this.#large.length < length) this.#large = Buffer.allocUnsafeSlow(length);
    this.#file.read(this.#large, length, position);
    return { bytes: this.#large, start: 0, end: length, position };
  }

  #requirePage(page: number): void {
    // Pages 0 and 1 are the meta pages.
    if (page >= 2 && page < this.pageCount) return;
    throw damaged(`a page refers to page ${page}, which does not exist`);
  }
}
