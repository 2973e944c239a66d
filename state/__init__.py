"""The JSON session store: what each Discord thread is, kept durably in one readable file."""
