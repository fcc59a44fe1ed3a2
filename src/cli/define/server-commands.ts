// Commands for webhooks and accounts of a server.
import { type Command, Option } from 'commander';
import { ROLES } from '../../core/accounts/role.ts';
import { commaSeparated, wholeNumber } from '../argument-values.ts';
import { ending, withApi, withYes } from './command-parts.ts';

const webhookFile = () => import('../commands/webhooks.ts');
const peopleFile = () => import('../commands/people.ts');

export function defineWebhookCommands(program: Command): void {
  const webhooks = withApi(
    program
      .command('webhooks')
      .description('Webhooks of a server: list, add, show, test, deliveries, delivery, redeliver, remove'),
  ).option('--json', 'JSON output');

  webhooks
    .command('list', { isDefault: true })
    .description('List webhooks of a server')
    .option('-a, --all', 'Webhooks of all owners; administrators only')
    .action(ending(async (_, list: Command) => (await webhookFile()).listWebhooksOf(list.optsWithGlobals())));

  webhooks
    .command('add <url>')
    .description('Add a webhook and print its secret once; mailto:ada@example.org sends mail')
    .addOption(
      new Option(
        '--format <format>',
        'Format of messages (default: mail for mailto:, otherwise signed)',
      ).choices(['signed', 'slack', 'mail']),
    )
    .option(
      '--events <events>',
      'Events, separated by commas (default: job.finished,job.failed)',
      commaSeparated,
    )
    .option('--description <text>', 'Description of the webhook')
    .action(
      ending(async (url: string, _, add: Command) =>
        (await webhookFile()).addWebhook(url, add.optsWithGlobals()),
      ),
    );

  webhooks
    .command('show <webhook>')
    .description('Show a webhook')
    .action(
      ending(async (id: string, _, show: Command) =>
        (await webhookFile()).showWebhook(id, show.optsWithGlobals()),
      ),
    );

  webhooks
    .command('test <webhook>')
    .description('Send a test message now and show the result')
    .action(
      ending(async (id: string, _, test: Command) =>
        (await webhookFile()).testWebhookOf(id, test.optsWithGlobals()),
      ),
    );

  webhooks
    .command('deliveries <webhook>')
    .description('List deliveries of a webhook, newest first')
    .addOption(
      new Option('--state <state>', 'Only deliveries in this state').choices([
        'PENDING',
        'DELIVERED',
        'DEAD',
      ]),
    )
    .option('-n, --limit <n>', 'Maximum number of deliveries', wholeNumber, 50)
    .action(
      ending(async (id: string, _, deliveries: Command) =>
        (await webhookFile()).listDeliveriesOf(id, deliveries.optsWithGlobals()),
      ),
    );

  webhooks
    .command('delivery <webhook> <delivery>')
    .description('Show the payload, attempts and responses of a delivery')
    .action(
      ending(async (id: string, delivery: string, _, show: Command) =>
        (await webhookFile()).showDelivery(id, delivery, show.optsWithGlobals()),
      ),
    );

  webhooks
    .command('redeliver <webhook> <delivery>')
    .description('Send a message again, with the same id')
    .action(
      ending(async (id: string, delivery: string, _, again: Command) =>
        (await webhookFile()).redeliver(id, delivery, again.optsWithGlobals()),
      ),
    );

  withYes(webhooks.command('remove <webhook>'))
    .description('Remove a webhook and its deliveries')
    .action(
      ending(async (id: string, _, remove: Command) =>
        (await webhookFile()).removeWebhook(id, remove.optsWithGlobals()),
      ),
    );
}

export function definePeopleCommands(program: Command): void {
  const people = withApi(
    program.command('people').description('Accounts of a server: list, add, set, remove'),
  ).option('--json', 'JSON output');

  people
    .command('list', { isDefault: true })
    .description('List accounts of a server')
    .action(ending(async (_, list: Command) => (await peopleFile()).listPeople(list.optsWithGlobals())));

  people
    .command('add <user>')
    .description('Create an account; the password is asked for or read from standard input')
    .addOption(new Option('--role <role>', 'Role of the account (default: member)').choices(ROLES))
    .option('--team <team>', 'Team of the account, such as @sales')
    .action(
      ending(async (name: string, _, add: Command) =>
        (await peopleFile()).addPerson(name, add.optsWithGlobals()),
      ),
    );

  people
    .command('set <user>')
    .description('Change the role or team of an account, or enable it again')
    .addOption(new Option('--role <role>', 'New role').choices(ROLES))
    .option('--team <team|none>', 'New team, such as @sales')
    .option('--enable', 'Enable an account that was removed')
    .action(
      ending(async (name: string, _, set: Command) =>
        (await peopleFile()).setPerson(name, set.optsWithGlobals()),
      ),
    );

  withYes(people.command('remove <user>'))
    .description('Disable an account, and end its sessions, keys and webhooks')
    .action(
      ending(async (name: string, _, remove: Command) =>
        (await peopleFile()).removePerson(name, remove.optsWithGlobals()),
      ),
    );
}
