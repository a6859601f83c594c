// The icons, as paths in a square of 24. They stand beside texts, or in buttons with a label of their own.
import { html, type VNode } from '../library.ts'

const PATHS = {
  overview: 'M3 12h4l3-8 4 16 3-8h4',
  browse: 'M3 6h6l2 2h10v11H3z',
  journal: 'M5 4h14v16H5zM8 8h8M8 12h8M8 16h5',
  timeline: 'M3 6h7M8 12h9M13 18h8M3 3v18',
  held: 'M7 11V8a5 5 0 0 1 10 0v3M5 11h14v10H5z',
  races: 'M5 21V4h9l1 3h5v9h-7l-1-3H5',
  book: 'M12 6c-3-2-6-2-9-1v13c3-1 6-1 9 1 3-2 6-2 9-1V5c-3-1-6-1-9 1zM12 6v13',
  control: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 4v6M8 14v6',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  done: 'm5 13 4 4L19 7',
  close: 'm6 6 12 12M18 6 6 18',
  pause: 'M8 5v14M16 5v14',
  play: 'm7 5 12 7-12 7z',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  key: 'M15 9a4 4 0 1 1-4-4 4 4 0 0 1 4 4M13 12l7 7M17 16l2-2',
  light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  dark: 'M20 14A8.5 8.5 0 1 1 10 4a7 7 0 0 0 10 10',
  system: 'M3 5h18v11H3zM9 20h6M12 16v4',
  clock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3 2',
  warning: 'M12 3 2 20h20zM12 10v4M12 17v.5',
  up: 'M12 19V5M6 11l6-6 6 6',
  back: 'M19 12H5M11 6l-6 6 6 6',
  link: 'M7 17 17 7M9 7h8v8',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  upload: 'M12 16V4M6 10l6-6 6 6M4 20h16',
  download: 'M12 4v12M6 10l6 6 6-6M4 20h16',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 4v7h-7',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  folder: 'M3 6h6l2 2h10v11H3z',
  edit: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
} as const // prettier-ignore

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }): VNode {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d=${PATHS[name]} />
  </svg>`
}
