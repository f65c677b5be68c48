def grosse_schreibung(name):
    """Wandelt den Anfangsbuchstaben in einen Großbuchstaben um."""
    return name[:1].upper() + name[1:]


def trier_liste(liste):
    """Trie la liste par ordre alphabétique sans tenir compte des accents."""
    return sorted(liste)


def kensaku(bun):
    """全文検索のために文章を単語に分割する。"""
    return bun.split()
