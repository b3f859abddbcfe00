/** A curve through figures at equal distances, as an SVG path in a box. */
export function curve(
  figures: readonly number[],
  width: number,
  height: number,
  slots: number,
): string {
  if (figures.length < 2) return '';
  const most = Math.max(...figures, 0.001);
  const step = width / (slots - 1);
  const left = width - step * (figures.length - 1);
  const points = figures.map((figure, i) => {
    const x = (left + i * step).toFixed(1);
    const y = (height - 1 - (figure / most) * (height - 2)).toFixed(1);
    return `${x} ${y}`;
  });
  return `M${points.join('L')}`;
}
