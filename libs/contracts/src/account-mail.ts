/** An email to a user about their account: a link that resets the password or confirms the address, or a notice. */
export type AccountMailKind =
  | 'reset_password'
  | 'verify_email'
  | 'password_changed'
  | 'access_token_created'
  | 'second_factor_added'
  | 'second_factor_removed'
  | 'recovery_code_used'
  | 'recovery_codes_renewed'
  | 'sign_in_method_added'
