// Budgets of owners, with what is left. They have no unit: costs in any unit count towards them.
import type { Answered } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';

type Budget = Answered<Routes['getUsage']>['budgets'][number];

export function Budgets({ budgets }: { budgets: readonly Budget[] }) {
  if (budgets.length === 0) return null;
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">Budgets of owners</h2>
      <Table
        label="Budgets of owners"
        headings={['Owner', 'Budget', 'Maximum', 'Spent', 'Reserved', 'Left']}
        numbers={[2, 3, 4, 5]}
      >
        {budgets.map(({ ownerId, scope, max, spent, lost, reserved }) => (
          <tr key={`${ownerId} ${scope}`} className={rowClass}>
            <th scope="row" className={`${cellClass} text-left font-normal`}>
              {ownerId}
            </th>
            <td className={cellClass}>{scope === 'day' ? 'Today' : 'Total'}</td>
            <td className={numberClass}>{formatCost(max)}</td>
            <td className={numberClass}>{formatCost(spent + lost)}</td>
            <td className={numberClass}>{formatCost(reserved)}</td>
            <td className={numberClass}>{formatCost(Math.max(0, max - spent - lost - reserved))}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
