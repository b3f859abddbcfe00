import type uPlot from 'uplot';

/** The axes that every chart has. */
export function axes(
  colour: (name: string) => string,
  value: (figure: number) => string,
): uPlot.Axis[] {
  const look = {
    stroke: colour('soft'),
    font: '11px "Hanken Grotesk Variable", system-ui',
    grid: { stroke: colour('edge'), width: 1 },
    ticks: { show: false },
  };
  return [
    {
      ...look,
      grid: { show: false },
      space: 70,
      size: 26,
      values: (_, splits) => splits.map(timeOfDay),
    },
    { ...look, size: 52, space: 34, values: (_, splits) => splits.map(value) },
  ];
}

function timeOfDay(seconds: number): string {
  const time = new Date(seconds * 1000).toLocaleTimeString('en-GB');
  return seconds % 60 === 0 ? time.slice(0, 5) : time;
}

/** What no chart has: a legend of its own, and a zoom that the live update would undo. */
export const plain = {
  legend: { show: false },
  cursor: { drag: { x: false, y: false }, sync: { key: 'deployment' }, points: { size: 6 } },
} satisfies Partial<uPlot.Options>;
