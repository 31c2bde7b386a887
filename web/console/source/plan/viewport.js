// Move and zoom a drawing: drag, two fingers, Ctrl and the wheel, buttons.

const [SMALLEST, LEGIBLE, LARGEST] = [0.08, 0.45, 2.5];
const MARGIN = 110;

/** The part of a drawing that is seen. `surface` is the SVG element, `content` the group in it that moves. */
export class Viewport {
  #pointers = new Map();
  #size = { width: 0, height: 0 };

  constructor(surface, content) {
    Object.assign(this, { surface, content, x: 0, y: 0, scale: 1, isMoved: false });
    surface.addEventListener("pointerdown", (event) => this.#press(event));
    surface.addEventListener("pointermove", (event) => this.#drag(event));
    for (const kind of ["pointerup", "pointercancel"]) surface.addEventListener(kind, (event) => this.#pointers.delete(event.pointerId));
    surface.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /**
   * Show a drawing of this size, no larger than it is drawn, and of a large one the beginning, around `start`.
   *
   * Does nothing once somebody has moved it.
   */
  fit(size, start) {
    this.#size = size;
    if (this.isMoved) return;
    const fitting = this.#fitting();
    if (fitting === null) return;
    if (fitting >= LEGIBLE) return this.#centre(fitting);
    const box = this.surface.getBoundingClientRect();
    Object.assign(this, { scale: LEGIBLE, x: MARGIN - start.x * LEGIBLE, y: box.height / 2 - start.y * LEGIBLE });
    this.#apply();
  }

  /** Show all of the drawing, however small. */
  showAll() {
    this.isMoved = true;
    this.#centre(Math.max(SMALLEST, this.#fitting() ?? 1));
  }

  #fitting() {
    const { width, height } = this.surface.getBoundingClientRect();
    return width && this.#size.width ? Math.min(1, width / this.#size.width, height / this.#size.height) : null;
  }

  #centre(scale) {
    const { width, height } = this.surface.getBoundingClientRect();
    Object.assign(this, { scale, x: (width - this.#size.width * scale) / 2, y: (height - this.#size.height * scale) / 2 });
    this.#apply();
  }

  /** Zoom around the middle. */
  zoom(factor) {
    const box = this.surface.getBoundingClientRect();
    this.#zoomAt(factor, box.width / 2, box.height / 2);
  }

  /** Bring a place of the drawing into view, if it is outside. */
  reveal(x, y, margin) {
    const box = this.surface.getBoundingClientRect();
    const [left, top] = [this.x + x * this.scale, this.y + y * this.scale];
    const isSeen = left > margin && top > margin / 2 && left < box.width - margin && top < box.height - margin / 2;
    if (isSeen) return;
    this.x += box.width / 2 - left;
    this.y += box.height / 2 - top;
    this.#apply();
  }

  #press(event) {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  #drag(event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const box = this.surface.getBoundingClientRect();
      this.#zoomAt(apart(now, other) / apart(before, other), (now.x + other.x) / 2 - box.left, (now.y + other.y) / 2 - box.top);
    } else if (this.surface.hasPointerCapture(event.pointerId) || apart(before, now) > 3) {
      // Only a drag captures the pointer: a click must still reach the node under it.
      this.surface.setPointerCapture(event.pointerId);
      this.#move(now.x - before.x, now.y - before.y);
    } else return;
    this.#pointers.set(event.pointerId, now);
  }

  #wheel(event) {
    event.preventDefault();
    if (!event.ctrlKey && !event.metaKey) return this.#move(-event.deltaX, -event.deltaY);
    const box = this.surface.getBoundingClientRect();
    this.#zoomAt(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }

  #move(x, y) {
    this.isMoved = true;
    this.x += x;
    this.y += y;
    this.#apply();
  }

  #zoomAt(factor, x, y) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.x = x - (x - this.x) * (scale / this.scale);
    this.y = y - (y - this.y) * (scale / this.scale);
    this.scale = scale;
    this.isMoved = true;
    this.#apply();
  }

  #apply() {
    this.content.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`);
    this.surface.classList.toggle("far", this.scale < LEGIBLE);
  }
}

function apart(one, other) {
  return Math.hypot(one.x - other.x, one.y - other.y) || 1;
}
