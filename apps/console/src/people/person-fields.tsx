import { Input, Select } from '../ui/form.tsx'

/** Fields that name a person by a user or a visitor id; `personOf` reads them. */
export const PersonFields = (id: { placeholder?: string; defaultValue?: string }) => (
  <div className="grid gap-4 sm:grid-cols-2">
    <Select
      label="Known by"
      name="by"
      options={[
        ['userId', 'User id'],
        ['visitorId', 'Visitor id'],
      ]}
    />
    <Input label="Id" name="id" required maxLength={200} {...id} />
  </div>
)

/** The person that `PersonFields` name. */
export const personOf = ({ by, id = '' }: Record<string, string>) =>
  by === 'visitorId' ? { visitorId: id } : { userId: id }
